use std::io::Write as _;

use serde_json::json;
use testkit::{Peer, request::schedule};

use crate::server::Server;

/// Takes all ordinary slots with idle connections.
fn full(config: serde_json::Value) -> (Server, Vec<Peer>) {
    let server = Server::start(config);
    let mut idle: Vec<Peer> = (0..3).map(|_| server.peer()).collect();
    for peer in &mut idle {
        peer.quiet();
    }
    (server, idle)
}

#[test]
fn a_reserved_slot_serves_an_operator_when_all_others_are_taken() {
    let (server, mut idle) = full(json!({"max_connections": 3, "reserved_connections": 1}));
    let mut operator = server.peer();
    assert_eq!(operator.all_stats()["connections"], 4);
    let mut other = server.peer();
    assert_eq!(other.kind("error")["code"], "too_many_connections");
    // A reserved slot is for requests, not for consumers.
    for line in [
        r#"{"kind":"register","route_key":"a"}"#,
        r#"{"kind":"schedule","id":"x","fire_at":1}"#,
    ] {
        assert_eq!(operator.code(line), "too_many_connections");
    }
    assert_eq!(operator.ask(&schedule("a", "1", 1))["kind"], "ack");
    assert_eq!(
        operator.line(),
        None,
        "a silent connection in a reserved slot is closed"
    );
    drop(operator);
    // The slot is then free for the next operator.
    idle[0].until(
        |_| {
            let mut next = server.peer();
            let sent = next.stream().write_all(b"{\"kind\":\"ping\"}\n");
            json!(sent.is_ok().then(|| next.line()).flatten())
        },
        |line| line.as_str().is_some_and(|line| line.contains("pong")),
    );
}

#[test]
fn without_reserved_slots_the_next_connection_is_refused() {
    let (server, mut idle) = full(json!({"max_connections": 3, "reserved_connections": 0}));
    assert_eq!(server.peer().kind("error")["code"], "too_many_connections");
    for peer in &mut idle {
        peer.quiet();
    }
}
