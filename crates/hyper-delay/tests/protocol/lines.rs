use serde_json::json;
use testkit::request::{later, schedule};

use crate::server::Server;

const PING: &str = r#"{"kind":"ping"}"#;
const PONG: &str = r#"{"kind":"pong"}"#;

#[test]
fn a_return_before_the_end_of_a_line_is_ignored() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.raw(format!("{PING}\r\n{PING}\n"));
    assert_eq!(peer.line().as_deref(), Some(PONG));
    assert_eq!(peer.line().as_deref(), Some(PONG));
}

#[test]
fn empty_lines_are_ignored() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.raw("\n\r\n\n".repeat(200));
    peer.exact(PING, PONG);
    peer.quiet();
}

#[test]
fn lines_may_arrive_in_any_pieces() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    for byte in format!("{PING}\n{PING}\r\n").bytes() {
        peer.raw([byte]);
    }
    peer.raw(format!("{PING}\n{PING}\n{PING}"));
    for _ in 0..4 {
        assert_eq!(peer.line().as_deref(), Some(PONG));
    }
    peer.raw("\n");
    assert_eq!(peer.line().as_deref(), Some(PONG));
}

#[test]
fn unknown_fields_and_fields_of_other_kinds_are_ignored() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.exact(
        r#"{"x":[{"y":[]}],"x":2,"fire_at":-5,"credit":"no","kind":"ping","route_key":7,"id":{}}"#,
        PONG,
    );
}

#[test]
fn a_field_that_is_null_is_absent() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.exact(r#"{"kind":"ping","tag":null}"#, PONG);
    peer.exact(
        r#"{"kind":"register","route_key":"a","credit":null,"mode":null}"#,
        r#"{"kind":"registered","route_key":"a","credit":256}"#,
    );
    assert_eq!(
        peer.code(r#"{"kind":"schedule","fire_at":null}"#),
        "missing_field"
    );
    assert_eq!(peer.code(r#"{"kind":null}"#), "missing_field");
}

#[test]
fn fields_may_be_in_any_order() {
    let server = Server::start(json!({}));
    let at = later();
    server.peer().exact(
        &format!(r#"{{"fire_at":{at},"route_key":"a","id":"1","kind":"schedule"}}"#),
        &format!(r#"{{"kind":"ack","id":"1","route_key":"a","fire_at":{at}}}"#),
    );
}

#[test]
fn a_line_as_long_as_the_limit_is_read_and_a_longer_one_is_not() {
    let server = Server::start(json!({"max_line_bytes": 2000}));
    let mut peer = server.peer();
    let line = |length: usize| {
        let pad = length - r#"{"kind":"ping","x":""}"#.len();
        format!(r#"{{"kind":"ping","x":"{}"}}"#, "x".repeat(pad))
    };
    peer.exact(&line(2000), PONG);
    peer.exact(&format!("{}\r", line(2000)), PONG);
    peer.send(line(2001));
    assert_eq!(peer.kind("error")["code"], "line_too_long");
    peer.exact(PING, PONG);
}

#[test]
fn a_line_that_is_too_long_is_discarded_to_its_end() {
    let server = Server::start(json!({"max_line_bytes": 1024}));
    let mut peer = server.peer();
    // Nothing in the line takes effect.
    peer.raw(PING.repeat(20_000));
    let error = peer.kind("error");
    assert_eq!(error["code"], "line_too_long");
    peer.raw(format!("{PING}\n"));
    peer.quiet();
}

#[test]
fn bytes_after_the_last_end_of_a_line_are_ignored() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.raw(format!("{PING}\n{}", schedule("a", "1", later())));
    peer.finish_writing();
    assert_eq!(peer.rest(), [json!({"kind": "pong"})]);
    assert!(server.peer().stats("a").is_null());
}

#[test]
fn every_request_is_answered_before_the_connection_is_closed() {
    let server = Server::start(json!({"sync": "always"}));
    let mut peer = server.peer();
    let at = later();
    for id in 0..1000 {
        peer.send(schedule("a", &id.to_string(), at));
        peer.send(r#"{"kind":"stats"}"#);
        peer.send(r#"{"kind":"dead","route_key":"a"}"#);
        peer.send("nonsense");
    }
    peer.finish_writing();
    let lines = peer.rest();
    for kind in ["ack", "stats", "dead", "error"] {
        let count = lines.iter().filter(|line| line["kind"] == kind).count();
        assert_eq!(count, 1000, "{kind}");
    }
    assert_eq!(server.peer().stats("a")["waiting"], 1000);
}
