use std::io::Write as _;

use serde_json::{Value, json};
use testkit::Peer;

use crate::server::Server;

#[test]
fn a_host_that_is_not_allowed_is_closed_before_a_byte_is_read() {
    let server = Server::start(json!({"allowed_hosts": ["10.0.0.0/8"]}));
    for _ in 0..3 {
        assert_eq!(server.peer().line(), None);
    }
}

#[test]
fn a_host_in_a_range_is_allowed() {
    let server = Server::start(json!({"allowed_hosts": ["10.0.0.0/8", "127.0.0.0/8"]}));
    server.peer().quiet();
}

#[test]
fn a_connection_beyond_max_connections_gets_an_error_and_is_closed() {
    let server = Server::start(json!({"max_connections": 2, "reserved_connections": 0}));
    let mut peers = [server.peer(), server.peer()];
    for peer in &mut peers {
        peer.quiet();
    }
    let mut third = server.peer();
    let error: Value = third.kind("error");
    assert_eq!(error["code"], "too_many_connections");
    assert!(error["message"].is_string());
    assert_eq!(third.line(), None);
    for peer in &mut peers {
        peer.quiet();
    }
}

#[test]
fn an_ended_connection_makes_room_for_another() {
    let server = Server::start(json!({"max_connections": 1, "reserved_connections": 0}));
    let mut accepted = 0;
    for _ in 0..10 {
        let mut peer = until_accepted(&server, &mut accepted);
        peer.quiet();
        peer.finish_writing();
        assert_eq!(peer.line(), None);
    }
    // Between its end and its place being free a moment may pass, but not till the next one comes.
    assert!(accepted > 1, "only {accepted} of 10 were accepted at once");
}

/// Connects until there is a place, and counts whether there was one at once.
fn until_accepted(server: &Server, at_once: &mut u32) -> Peer {
    for tries in 0..1000 {
        std::thread::sleep(std::time::Duration::from_millis(10));
        let mut peer = server.peer();
        if is_served(&mut peer) {
            *at_once += u32::from(tries == 0);
            return peer;
        }
    }
    panic!("no place gets free");
}

/// Whether the server answers a ping on this connection, instead of closing it.
fn is_served(peer: &mut Peer) -> bool {
    // The server may have closed it already.
    let _ = peer.stream().write_all(b"{\"kind\":\"ping\"}\n");
    peer.line().is_some_and(|line| line.contains("pong"))
}

#[test]
fn connections_are_counted() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let others: Vec<Peer> = (0..5).map(|_| server.consumer("a")).collect();
    assert_eq!(peer.all_stats()["connections"], 6);
    assert_eq!(peer.stats("a")["consumers"], 5);
    drop(others);
    peer.until(Peer::all_stats, |stats| stats["connections"] == 1);
}
