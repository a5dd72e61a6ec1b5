//! Who may send what over HTTP.

use std::time::{Duration, Instant};

use serde_json::json;
use testkit::request::later;

use crate::{
    guarded::{Guarded, call, error, json_of, send},
    server::Server,
};

/// A change of each kind.
const CHANGES: [(&str, &str); 10] = [
    ("POST", "/v1/tasks"),
    ("DELETE", "/v1/tasks/mail/1"),
    ("POST", "/v1/dead/mail/1/kick"),
    ("POST", "/v1/dead/mail/1/delete"),
    ("POST", "/v1/bulk/mail/kick"),
    ("POST", "/v1/bulk/mail/delete"),
    ("POST", "/v1/routes/mail/pause"),
    ("POST", "/v1/routes/mail/resume"),
    ("POST", "/v1/routes/mail/purge"),
    ("POST", "/v1/jobs/1/stop"),
];

const READS: [&str; 11] = [
    "/v1/reasons",
    "/v1/jobs",
    "/v1/audit",
    "/v1/tasks",
    "/v1/tasks/mail/1",
    "/v1/dead/mail",
    "/v1/routes",
    "/v1/future",
    "/v1/search?id=1",
    "/v1/summary",
    "/v1/access",
];

#[test]
fn changes_need_a_token_even_where_tcp_needs_none() {
    let server = Server::start(json!({}));
    server.peer().plan("mail", "1", later());
    for (method, path) in CHANGES {
        let body = json!({"route_key": "mail", "fire_at": 0});
        let answer = call(&server, method, path, None, Some(body));
        assert_eq!(error(&answer), (403, "forbidden".to_owned()), "{path}");
        assert!(answer.body.contains("hyper-delay token new"), "{answer:?}");
        let answer = call(&server, method, path, Some("hd_x"), Some(json!({})));
        assert_eq!(error(&answer), (401, "unauthenticated".to_owned()));
    }
    for path in READS {
        let answer = call(&server, "GET", path, None, None);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
    }
    assert_eq!(
        server.peer().all_stats()["waiting"],
        1,
        "nothing has changed"
    );
}

#[test]
fn with_tokens_a_request_without_one_is_refused_whether_the_task_exists_or_not() {
    let server = Guarded::start(json!({}));
    server.known_peer().plan("mail", "1", later());
    for (method, path) in CHANGES.into_iter().chain([
        ("GET", "/v1/tasks"),
        ("GET", "/v1/tasks/mail/1"),
        ("GET", "/v1/tasks/mail/2"),
        ("GET", "/v1/dead/mail"),
        ("GET", "/v1/routes"),
        ("GET", "/v1/reasons"),
        ("GET", "/v1/jobs"),
        ("GET", "/v1/audit"),
        ("GET", "/v1/search?id=1"),
    ]) {
        let answer = call(&server, method, path, None, Some(json!({})));
        assert_eq!(
            error(&answer),
            (401, "unauthenticated".to_owned()),
            "{path}"
        );
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    // Numbers, as those of /metrics.
    for path in ["/v1/summary", "/v1/future", "/v1/access"] {
        assert_eq!(call(&server, "GET", path, None, None).status, 200, "{path}");
    }
}

#[test]
fn every_token_shows_what_it_allows() {
    let server = Guarded::start(json!({}));
    let access = |token: Option<&str>| {
        let answer = call(&server, "GET", "/v1/access", token, None);
        assert_eq!(answer.status, 200, "{answer:?}");
        json_of(&answer)
    };
    assert_eq!(
        access(Some(&server.schedule)),
        json!({"needs_token": true, "name": "billing", "rights": ["schedule"], "routes": ["mail*"]})
    );
    assert_eq!(access(Some(&server.local))["rights"], json!(["admin"]));
    assert_eq!(access(None), json!({"needs_token": true, "rights": []}));
    let wrong = call(&server, "GET", "/v1/access", Some("hd_x"), None);
    assert_eq!(error(&wrong), (401, "unauthenticated".to_owned()));
}

#[test]
fn a_token_gives_its_rights_on_its_routes() {
    let server = Guarded::start(json!({}));
    let forbidden = |method: &str, path: &str, token: &str, body| {
        let answer = call(&server, method, path, Some(token), body);
        assert_eq!(error(&answer), (403, "forbidden".to_owned()), "{path}");
    };
    let task = |route: &str| Some(json!({"route_key": route, "id": "1", "fire_at": later()}));
    let scheduled = call(
        &server,
        "POST",
        "/v1/tasks",
        Some(&server.schedule),
        task("mail-a"),
    );
    assert_eq!(scheduled.status, 200, "{scheduled:?}");
    let seen = call(
        &server,
        "GET",
        "/v1/tasks/mail-a/1",
        Some(&server.schedule),
        None,
    );
    assert_eq!(json_of(&seen)["state"], "waiting");
    let payload = "/v1/tasks/mail-a/1?payload=true";
    forbidden("GET", payload, &server.schedule, None);
    assert_eq!(server.call("GET", payload, None).status, 200);
    forbidden("POST", "/v1/tasks", &server.schedule, task("pay"));
    forbidden("GET", "/v1/tasks/pay/1", &server.schedule, None);
    forbidden("GET", "/v1/tasks?route=mail-a", &server.schedule, None);
    forbidden("GET", "/v1/dead/mail-a", &server.schedule, None);
    forbidden("GET", "/v1/summary", &server.schedule, None);
    forbidden("GET", "/v1/search?id=1", &server.schedule, None);
    forbidden("POST", "/v1/tasks", &server.local, task("mail"));
    forbidden("GET", "/v1/dead/mail-a", &server.local, None);
    forbidden("GET", "/v1/tasks", &server.local, None);
    forbidden(
        "POST",
        "/v1/routes/mail-a/pause",
        &server.local,
        Some(json!({})),
    );
    forbidden(
        "POST",
        "/v1/bulk/mail-a/delete",
        &server.local,
        Some(json!({})),
    );
    forbidden(
        "POST",
        "/v1/routes/mail-a/purge",
        &server.schedule,
        Some(json!({})),
    );
    for path in [
        "/v1/routes/mail-a/resume",
        "/v1/bulk/mail-a/kick",
        "/v1/dead/mail-a/1/kick",
        "/v1/dead/mail-a/1/delete",
        "/v1/jobs/1/stop",
    ] {
        // The right of the one is on another route, and the other has another right.
        forbidden("POST", path, &server.local, None);
        forbidden("POST", path, &server.schedule, None);
    }
    for path in [
        "/v1/audit",
        "/v1/jobs",
        "/v1/reasons",
        "/v1/reasons?route=mail-a",
    ] {
        forbidden("GET", path, &server.local, None);
        forbidden("GET", path, &server.schedule, None);
    }
    let reasons = call(
        &server,
        "GET",
        "/v1/reasons?route=mail",
        Some(&server.local),
        None,
    );
    assert_eq!(reasons.status, 200, "{reasons:?}");
    let routes = call(&server, "GET", "/v1/routes", Some(&server.local), None);
    assert_eq!(
        json_of(&routes)["routes"],
        json!([]),
        "only permitted routes"
    );
    let summary = call(&server, "GET", "/v1/summary", Some(&server.local), None);
    let summary = json_of(&summary);
    assert_eq!(summary["routes"], json!([]), "only permitted routes");
    assert_eq!(summary["all"]["waiting"], 0, "only permitted routes");
    forbidden("GET", "/v1/future", &server.local, None);
    assert_eq!(summary["access"]["name"], "postmaster");
    assert_eq!(summary["access"]["rights"], json!(["admin"]));
    let cancelled = call(
        &server,
        "DELETE",
        "/v1/tasks/mail-a/1",
        Some(&server.schedule),
        None,
    );
    assert_eq!(cancelled.status, 200);
}

#[test]
fn a_token_is_taken_from_the_header_only() {
    let server = Guarded::start(json!({}));
    let token = &server.admin;
    let body = json!({"route_key": "mail", "fire_at": 0, "token": token});
    for (headers, status) in [
        (format!("cookie: token={token}\r\n"), 401),
        (format!("x-token: {token}\r\n"), 401),
        (format!("authorization: Basic {token}\r\n"), 401),
        (format!("authorization: {token}\r\n"), 401),
        ("authorization: Bearer\r\n".to_owned(), 401),
        (format!("authorization: Bearer {token}x\r\n"), 401),
        (
            format!("authorization: Bearer {token}\r\nauthorization: Bearer {token}\r\n"),
            400,
        ),
        (format!("authorization: bearer  {token}\r\n"), 200),
    ] {
        let answer = send(&server, "GET", "/v1/tasks", &headers, "");
        assert_eq!(answer.status, status, "{headers}: {answer:?}");
    }
    let in_query = call(
        &server,
        "GET",
        &format!("/v1/tasks?token={token}"),
        None,
        None,
    );
    assert_ne!(in_query.status, 200);
    let both = server.call("GET", &format!("/v1/tasks?token={token}"), None);
    assert_eq!(error(&both), (400, "bad_field".to_owned()));
    assert!(
        !both.body.contains(token.as_str()),
        "no answer shows a token"
    );
    let in_body = call(&server, "POST", "/v1/tasks", None, Some(body.clone()));
    assert_eq!(in_body.status, 401);
    let in_body = server.call("POST", "/v1/tasks", Some(body));
    assert_eq!(error(&in_body), (400, "bad_field".to_owned()));
    assert!(!server.log().contains(token.as_str()), "no log has a token");
}

#[test]
fn wrong_tokens_wait_longer_and_longer() {
    let server = Guarded::start(json!({}));
    let (start, end) = server.admin.split_at(20);
    let other = if end.starts_with('A') { 'B' } else { 'A' };
    let wrong = format!("{start}{other}{}", &end[1..]);
    for least in [100, 200, 400] {
        let start = Instant::now();
        let answer = call(&server, "GET", "/v1/tasks", Some(&wrong), None);
        assert_eq!(error(&answer), (401, "unauthenticated".to_owned()));
        assert!(
            start.elapsed() >= Duration::from_millis(least),
            "{:?}",
            start.elapsed()
        );
    }
    server.logs("token");
    assert_eq!(server.call("GET", "/v1/tasks", None).status, 200);
}

#[test]
fn a_revoked_token_is_refused() {
    let server = Guarded::start(json!({}));
    assert_eq!(server.call("GET", "/v1/tasks", None).status, 200);
    server.revoke_admin();
    let answer = server.call("GET", "/v1/tasks", None);
    assert_eq!(error(&answer), (401, "unauthenticated".to_owned()));
}

#[test]
fn other_sites_are_refused_and_get_no_cors_headers() {
    let server = Guarded::start(json!({}));
    let with_origin = |origin: &str| {
        let headers = format!(
            "authorization: Bearer {}\r\norigin: {origin}\r\n",
            server.admin
        );
        send(
            &server,
            "POST",
            "/v1/tasks",
            &headers,
            r#"{"route_key":"mail","fire_at":0}"#,
        )
    };
    let answer = with_origin("http://evil.example");
    assert_eq!(error(&answer), (403, "forbidden".to_owned()));
    assert_eq!(with_origin(&format!("http://{}", server.http)).status, 200);
    let preflight = send(
        &server,
        "OPTIONS",
        "/v1/tasks",
        "origin: http://evil.example\r\naccess-control-request-method: POST\r\n",
        "",
    );
    assert_eq!(preflight.status, 403);
    for answer in [answer, preflight] {
        let mut headers = answer.headers.iter();
        assert!(!headers.any(|(name, _)| name.starts_with("access-control")));
    }
}

#[test]
fn tokens_are_taken_from_this_machine_only() {
    let Some(outer) = crate::hosts::outer() else {
        println!("NOTE: nothing is proved here: this machine has only the loopback");
        return;
    };
    let server = Guarded::start(json!({
        "http_addr": "0.0.0.0:0",
        "allowed_hosts": ["0.0.0.0/0"],
    }));
    let address = (outer, server.http.port()).into();
    let header = format!("authorization: Bearer {}\r\n", server.admin);
    let answer = testkit::http::get_with(address, "/v1/tasks", &header);
    assert_eq!(error(&answer), (403, "forbidden".to_owned()));
    assert!(answer.body.contains("ssh -L"), "{answer:?}");
    for path in READS.into_iter().chain(["/metrics"]) {
        let answer = testkit::http::get(address, path);
        assert_eq!(answer.status, 403, "{path}");
        assert!(answer.body.contains("ssh -L"), "{path}: {answer:?}");
    }
    assert_eq!(testkit::http::get(address, "/").status, 200);
}
