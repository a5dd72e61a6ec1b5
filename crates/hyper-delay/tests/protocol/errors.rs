use serde_json::json;
use testkit::{
    Peer,
    request::{later, schedule},
};

use crate::server::Server;

const PING: &str = r#"{"kind":"ping"}"#;

#[test]
fn a_line_that_is_not_one_json_object_is_bad_json() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    for line in [
        "nonsense",
        "[]",
        "7",
        "null",
        r#""text""#,
        "{",
        r#"{"kind":"ping"}}"#,
        r#"{"kind":"ping"} {"kind":"ping"}"#,
        r#"{"kind":"ping",}"#,
        r#"{'kind':'ping'}"#,
        r#"{"kind":"ping","kind":"ping"}"#,
        r#"{"kind":"ping","credit":1,"credit":1}"#,
        r#"{"kind":"ping","tag":null,"tag":"t"}"#,
    ] {
        peer.send(line);
        let error = peer.kind("error");
        assert_eq!(error["code"], "bad_json", "{line}");
        assert!(error["tag"].is_null(), "{error}");
        assert!(error["message"].is_string(), "{error}");
    }
    peer.quiet();
}

#[test]
fn a_line_that_is_not_utf8_is_bad_utf8() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.raw(b"{\"kind\":\"ping\",\"x\":\"\xff\"}\n");
    assert_eq!(peer.kind("error")["code"], "bad_utf8");
    peer.quiet();
}

#[test]
fn each_error_has_its_code() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    for (line, code) in [
        (r#"{"kind":"fly"}"#, "unknown_kind"),
        (r#"{"kind":""}"#, "unknown_kind"),
        (r#"{"kind":5}"#, "bad_field"),
        (r#"{"id":"1"}"#, "missing_field"),
        (r#"{"kind":"register"}"#, "missing_field"),
        (r#"{"kind":"unregister"}"#, "missing_field"),
        (r#"{"kind":"schedule","id":"1"}"#, "missing_field"),
        (r#"{"kind":"ack"}"#, "missing_field"),
        (r#"{"kind":"nack"}"#, "missing_field"),
        (r#"{"kind":"cancel","id":"1"}"#, "missing_field"),
        (r#"{"kind":"cancel","route_key":"a"}"#, "missing_field"),
        (r#"{"kind":"kick","id":"1"}"#, "missing_field"),
        (r#"{"kind":"kick","route_key":"a"}"#, "missing_field"),
        (r#"{"kind":"dead"}"#, "missing_field"),
        (
            r#"{"kind":"register","route_key":"a","credit":0}"#,
            "bad_field",
        ),
        (
            r#"{"kind":"register","route_key":"a","credit":65536}"#,
            "bad_field",
        ),
        (
            r#"{"kind":"register","route_key":"a","credit":1.5}"#,
            "bad_field",
        ),
        (
            r#"{"kind":"register","route_key":"a","credit":"5"}"#,
            "bad_field",
        ),
        (
            r#"{"kind":"register","route_key":"a","mode":"Shared"}"#,
            "bad_field",
        ),
        (r#"{"kind":"ack","id":"1","attempt":0}"#, "bad_field"),
        (r#"{"kind":"ack","id":"1","attempt":5.0}"#, "bad_field"),
        (r#"{"kind":"ack","id":"1","confirm":"true"}"#, "bad_field"),
        (r#"{"kind":"nack","id":"1","delay_ms":-0}"#, "bad_field"),
        (r#"{"kind":"nack","id":"1","delay_ms":1e3}"#, "bad_field"),
        // More than max_delay_days.
        (
            r#"{"kind":"nack","id":"1","delay_ms":315360000001}"#,
            "bad_field",
        ),
        (r#"{"kind":"dead","route_key":"a","limit":0}"#, "bad_field"),
        (
            r#"{"kind":"dead","route_key":"a","limit":1001}"#,
            "bad_field",
        ),
        (r#"{"kind":"stats","route_key":""}"#, "bad_field"),
        (
            r#"{"kind":"schedule","fire_at":1,"replace":1}"#,
            "bad_field",
        ),
        (
            r#"{"kind":"schedule","fire_at":1,"compression":"gzip"}"#,
            "bad_field",
        ),
        (
            r#"{"kind":"schedule","fire_at":1,"payload_base64":5}"#,
            "bad_field",
        ),
        (
            r#"{"kind":"schedule","fire_at":1,"payload_base64":"a-_a"}"#,
            "bad_base64",
        ),
        (
            r#"{"kind":"schedule","fire_at":1,"payload_base64":"aB=="}"#,
            "bad_base64",
        ),
        (
            r#"{"kind":"schedule","fire_at":1,"payload_base64":"a"}"#,
            "bad_base64",
        ),
    ] {
        assert_eq!(peer.code(line), code, "{line}");
    }
    peer.quiet();
    let stats = peer.all_stats();
    assert_eq!(
        (&stats["waiting"], &stats["unknown_acks"]),
        (&json!(0), &json!(0))
    );
}

#[test]
fn names_are_1_to_128_bytes() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let (at, longest) = (later(), "é".repeat(64));
    peer.plan(&longest, &longest, at);
    for wrong in ["", &format!("{longest}x")] {
        assert_eq!(peer.code(&schedule("a", wrong, at)), "bad_field");
        assert_eq!(peer.code(&schedule(wrong, "1", at)), "bad_field");
        let register = format!(r#"{{"kind":"register","route_key":"{wrong}"}}"#);
        assert_eq!(peer.code(&register), "bad_field");
    }
}

#[test]
fn an_error_names_what_the_line_names() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.send(r#"{"kind":"cancel","id":5,"route_key":"a","tag":"t"}"#);
    let mut error = peer.kind("error");
    error["message"].take();
    assert_eq!(
        error,
        json!({"kind": "error", "code": "bad_field", "message": null, "route_key": "a", "tag": "t"})
    );
    peer.send(r#"{"kind":"fly","id":"1","route_key":"a","tag":"t"}"#);
    let mut error = peer.kind("error");
    error["message"].take();
    assert_eq!(
        error,
        json!({"kind": "error", "code": "unknown_kind", "message": null, "id": "1", "route_key": "a", "tag": "t"})
    );
}

#[test]
fn every_reply_carries_the_tag_of_its_request() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let tag = "é".repeat(64);
    for (request, kind) in [
        (r#""kind":"ping""#, "pong"),
        (r#""kind":"register","route_key":"a""#, "registered"),
        (
            r#""kind":"schedule","id":"1","route_key":"b","fire_at":1"#,
            "ack",
        ),
        (
            r#""kind":"schedule","id":"1","route_key":"b","fire_at":2"#,
            "error",
        ),
        (r#""kind":"cancel","id":"1","route_key":"b""#, "cancelled"),
        (r#""kind":"kick","id":"1","route_key":"b""#, "kicked"),
        (r#""kind":"dead","route_key":"b""#, "dead"),
        (r#""kind":"dead","route_key":"b","after":"1""#, "error"),
        (r#""kind":"stats""#, "stats"),
        (r#""kind":"ack","id":"1","confirm":true"#, "acked"),
        (r#""kind":"unregister","route_key":"a""#, "unregistered"),
        (r#""kind":"fly""#, "error"),
    ] {
        peer.send(format!(r#"{{{request},"tag":"{tag}"}}"#));
        let reply = peer.answer(&tag);
        assert_eq!(reply["kind"], kind, "{reply}");
    }
    peer.send(r#"{"kind":"ping","tag":""}"#);
    assert_eq!(peer.line().as_deref(), Some(r#"{"kind":"pong","tag":""}"#));
    peer.send(format!(r#"{{"kind":"ping","tag":"{tag}x"}}"#));
    let error = peer.kind("error");
    assert_eq!(error["code"], "bad_field");
    assert!(error["tag"].is_null());
}

#[test]
fn a_line_that_cannot_be_read_is_named_by_its_number() {
    let server = Server::start(json!({"max_line_bytes": 1024}));
    let mut peer = server.peer();
    let long = "x".repeat(3000);
    peer.raw(format!("{PING}\nnonsense\n\r\n\n{long}\n{PING}\n"));
    peer.raw(b"{\"kind\":\"ping\",\"x\":\"\xff\"}\n{\"kind\":\"fly\"}\n[]\n");
    let error = |peer: &mut Peer| {
        let error = peer.kind("error");
        (error["code"].clone(), error["line"].clone())
    };
    for (code, line) in [
        ("bad_json", json!(2)),
        ("line_too_long", json!(5)),
        ("bad_utf8", json!(7)),
        ("unknown_kind", json!(null)),
        ("bad_json", json!(9)),
    ] {
        assert_eq!(error(&mut peer), (json!(code), line));
    }
}

#[test]
fn a_line_that_is_too_long_is_named_before_its_end_has_arrived() {
    let server = Server::start(json!({"max_line_bytes": 1024}));
    let mut peer = server.peer();
    peer.raw(format!("{PING}\n{}", "x".repeat(3000)));
    let error = peer.kind("error");
    assert_eq!(
        (&error["code"], &error["line"]),
        (&json!("line_too_long"), &json!(2))
    );
    peer.raw(format!("x\n{PING}\nnonsense\n"));
    assert_eq!(peer.kind("error")["line"], 4);
}

fn errors(peer: &mut Peer, count: usize) {
    peer.raw("nonsense\n".repeat(count));
    for _ in 0..count {
        assert_eq!(peer.kind("error")["code"], "bad_json");
    }
}

#[test]
fn a_hundred_errors_in_a_row_close_the_connection() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    errors(&mut peer, 100);
    assert_eq!(peer.line(), None);
}

#[test]
fn a_good_line_between_errors_keeps_the_connection() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    for _ in 0..3 {
        errors(&mut peer, 99);
        peer.quiet();
    }
    errors(&mut peer, 100);
    assert_eq!(peer.line(), None);
}

#[test]
fn requests_before_a_hundred_errors_are_answered() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let lines = format!("{PING}\n{}\n", schedule("a", "1", later()));
    peer.raw(lines + &"nonsense\n".repeat(100));
    let lines = peer.rest();
    let count = |kind| lines.iter().filter(|line| line["kind"] == kind).count();
    assert_eq!([count("pong"), count("ack"), count("error")], [1, 1, 100]);
}

#[test]
fn lines_that_are_too_long_count_as_errors() {
    let server = Server::start(json!({"max_line_bytes": 1024}));
    let mut peer = server.peer();
    errors(&mut peer, 99);
    peer.send("x".repeat(3000));
    assert_eq!(peer.kind("error")["code"], "line_too_long");
    assert_eq!(peer.line(), None);
}
