//! Requests of `/v1` that are refused, with the status, the code and the cure.

use std::{io::Write as _, time::Instant};

use serde_json::json;
use testkit::{PATIENCE, http, request::later};

use crate::{
    guarded::{Guarded, error, send},
    starting::Starting,
};

fn post(server: &Guarded, body: &str) -> http::Answer {
    let headers = format!("authorization: Bearer {}\r\n", server.admin);
    send(server, "POST", "/v1/tasks", &headers, body)
}

#[test]
fn bad_requests_name_the_value_and_the_cure() {
    let server = Guarded::start(json!({}));
    for (body, code, part) in [
        ("", "missing_field", "fire_at is missing"),
        ("[]", "bad_json", "send one JSON object"),
        ("{", "bad_json", "send one JSON object"),
        (r#"{"fire_at":0}"#, "missing_field", "route_key is missing"),
        (
            r#"{"route_key":"mail"}"#,
            "missing_field",
            "fire_at is missing",
        ),
        (
            r#"{"route_key":"mail","fire_at":0,"delay_ms":5}"#,
            "bad_field",
            "delay_ms is 5: give it or fire_at",
        ),
        (
            r#"{"route_key":"mail","fire_at":"x"}"#,
            "bad_field",
            "fire_at is",
        ),
        (
            r#"{"route_key":"mail","fire_at":1700000000}"#,
            "bad_field",
            "Unix seconds",
        ),
        (
            r#"{"route_key":"","fire_at":0}"#,
            "bad_field",
            "route_key is",
        ),
        (
            r#"{"route_key":"mail","fire_at":0,"fire_at":1}"#,
            "bad_json",
            "fire_at",
        ),
        (
            r#"{"route_key":"mail","fire_at":0,"payload_base64":"?"}"#,
            "bad_base64",
            "base64",
        ),
        (
            r#"{"kind":"schedule","route_key":"mail","fire_at":0}"#,
            "bad_field",
            "kind is in the body",
        ),
        (
            r#"{"route_key":"mail","fire_at":9007199254740992}"#,
            "bad_field",
            "max_delay_days",
        ),
    ] {
        let answer = post(&server, body);
        assert_eq!(error(&answer), (400, code.to_owned()), "{body}");
        assert!(answer.body.contains(part), "{body}: {}", answer.body);
    }
    for (path, part) in [
        ("/v1/tasks?limit=0", "limit is"),
        ("/v1/tasks?limit=x", "limit is"),
        ("/v1/tasks?state=gone", "state is"),
        ("/v1/tasks?payload=1", "payload is"),
        ("/v1/tasks?reason=x", "reason is"),
        ("/v1/tasks?reason=", "reason is"),
        (
            "/v1/tasks?state=dead&reason=x",
            "give it with the state \\\"retrying\\\"; `dead` lists dead letters by reason",
        ),
        ("/v1/tasks?nonsense=1", "nonsense"),
        ("/v1/tasks?limit=1&limit=1", "twice"),
        ("/v1/tasks/mail/1?limit=1", "limit"),
        ("/v1/summary?x=1", "takes none"),
        ("/v1/search", "id is missing"),
        ("/v1/search?after=a", "id is missing"),
        ("/v1/search?id=", "id has 0 bytes: give 1 to 128"),
        ("/v1/access?x=1", "takes none"),
    ] {
        let answer = server.call("GET", path, None);
        assert_eq!(error(&answer), (400, "bad_field".to_owned()), "{path}");
        assert!(answer.body.contains(part), "{path}: {}", answer.body);
    }
    let path = format!("/v1/search?id=1&after={}", "r".repeat(129));
    let answer = server.call("GET", &path, None);
    assert_eq!(error(&answer), (400, "bad_field".to_owned()));
}

#[test]
fn a_body_needs_its_type() {
    let server = Guarded::start(json!({}));
    let body = r#"{"route_key":"mail","fire_at":0}"#;
    for (kind, status) in [
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data", 415),
        ("application/jsonx", 415),
        ("", 415),
        ("application/json", 200),
        ("Application/JSON; charset=utf-8", 200),
    ] {
        let token = &server.admin;
        let headers = format!("authorization: Bearer {token}\r\ncontent-type: {kind}\r\n");
        let answer = send(&server, "POST", "/v1/tasks", &headers, body);
        assert_eq!(answer.status, status, "{kind}: {answer:?}");
        if status == 415 {
            assert_eq!(error(&answer).1, "unsupported_media_type");
        }
    }
}

#[test]
fn a_body_has_at_most_the_bytes_of_a_line() {
    let server = Guarded::start(json!({"max_line_bytes": 2_000}));
    let body = |length: usize| {
        let start = r#"{"route_key":"mail","fire_at":0"#;
        format!("{start}{}}}", " ".repeat(length - start.len() - 1))
    };
    assert_eq!(post(&server, &body(2_000)).status, 200);
    let answer = post(&server, &body(2_001));
    assert_eq!(error(&answer), (413, "line_too_long".to_owned()));
    let chunked = format!(
        "POST /v1/tasks HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n\
         7D1\r\n{}\r\n0\r\n\r\n",
        server.admin,
        body(2_001)
    );
    let answer = http::ask(server.http, &chunked);
    assert_eq!(error(&answer), (413, "line_too_long".to_owned()));
    let payload = "A".repeat(1_940);
    let long = format!(r#"{{"route_key":"m","fire_at":0,"payload_base64":"{payload}"}}"#);
    assert_eq!(error(&post(&server, &long)), (413, "too_long".to_owned()));
}

#[test]
fn unknown_paths_and_methods_are_named() {
    let server = Guarded::start(json!({}));
    for path in [
        "/v1",
        "/v1/",
        "/v1/task",
        "/v1/tasks/",
        "/v1/tasks/a",
        "/v1/tasks/a/b/c",
    ] {
        let answer = server.call("GET", path, None);
        assert_eq!(error(&answer), (404, "not_found".to_owned()), "{path}");
    }
    let answer = server.call("PUT", "/v1/tasks", None);
    assert_eq!(error(&answer), (405, "method_not_allowed".to_owned()));
    assert_eq!(answer.header("allow"), Some("POST,GET,HEAD"));
}

#[test]
fn a_refusal_is_counted() {
    let server = Guarded::start(json!({}));
    let task =
        |payload| json!({"route_key": "m", "id": "1", "fire_at": 0, "payload_base64": payload});
    server.call("POST", "/v1/tasks", Some(task("")));
    server.call("POST", "/v1/tasks", Some(task("AAAA")));
    server.call(
        "POST",
        "/v1/tasks",
        Some(json!({"route_key": "m", "fire_at": "soon"})),
    );
    server.call("GET", "/v1/tasks/mail/none", None);
    server.call("PUT", "/v1/tasks", None);
    for target in ["/v1/tasks", "/metrics/none"] {
        let _ = http::get(server.http, target);
    }
    let foreign = "GET /healthz HTTP/1.1\r\nhost: example.com\r\n\r\n";
    let _ = http::ask(server.http, foreign);
    server.until(&[
        (r#"refusals_total{reason="duplicate_id"}"#, 1.0),
        (r#"refusals_total{reason="bad_field"}"#, 1.0),
        (r#"refusals_total{reason="unauthenticated"}"#, 1.0),
        (r#"refusals_total{reason="method_not_allowed"}"#, 1.0),
        (r#"refusals_total{reason="forbidden"}"#, 1.0),
    ]);
}

#[test]
fn requests_wait_for_the_store() {
    let starting = Starting::start();
    let answer = http::get(starting.http, "/v1/tasks");
    assert_eq!(error(&answer), (503, "starting".to_owned()));
    assert_eq!(answer.header("retry-after"), Some("5"));
    assert_eq!(
        http::get(starting.http, "/").status,
        200,
        "the page shows that it waits"
    );
}

#[test]
fn a_client_that_leaves_does_not_disturb_the_others() {
    let server = Guarded::start(json!({}));
    for number in 0..50 {
        let mut stream = http::connect(server.http);
        let body = json!({"route_key": "mail", "id": number.to_string(), "fire_at": 0}).to_string();
        let request = format!(
            "POST /v1/tasks HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            server.admin,
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
    }
    // Those that left can have all slots for a moment.
    let start = Instant::now();
    while server.call("GET", "/v1/tasks", None).status != 200 {
        assert!(start.elapsed() < PATIENCE, "the slots do not come back");
    }
    server.known_peer().quiet();
}

#[test]
fn a_quota_is_too_many_requests() {
    let server = Guarded::start(json!({"quotas": {"mail": {"pending": 1}}}));
    let task = |id: &str| Some(json!({"route_key": "mail", "id": id, "fire_at": later()}));
    server.reply("POST", "/v1/tasks", task("1"));
    let answer = server.call("POST", "/v1/tasks", task("2"));
    assert_eq!(error(&answer), (429, "quota".to_owned()));
    assert!(answer.header("retry-after").is_some());
}
