use serde_json::json;
use testkit::request::schedule;

use crate::server::Server;

#[test]
fn idle_connections_are_closed_and_consumers_stay() {
    let server = Server::start(json!({"idle_timeout_seconds": 2}));
    let mut consumer = server.consumer("a");
    let mut silent = server.peer();
    let mut half = server.peer();
    half.raw(r#"{"kind":"#);
    assert_eq!(silent.line(), None);
    assert_eq!(half.line(), None, "an unfinished line does not count");
    // The consumer has been silent for longer than both.
    server.peer().due("a", "1");
    let delivery = consumer.delivery();
    assert!(consumer.removes(&delivery));
}

#[test]
fn a_connection_with_a_delivery_in_flight_stays() {
    let server = Server::start(json!({"idle_timeout_seconds": 2}));
    let mut holder = server.consumer("a");
    server.peer().due("a", "1");
    let delivery = holder.delivery();
    let reply = holder.ask(r#"{"kind":"unregister","route_key":"a"}"#);
    assert_eq!(reply["kind"], "unregistered");
    // Two connections that become idle later are closed first.
    for _ in 0..2 {
        assert_eq!(server.peer().line(), None);
    }
    assert!(holder.removes(&delivery));
    assert_eq!(holder.line(), None, "it is idle now");
}

#[test]
fn a_connection_with_an_own_route_stays() {
    let server = Server::start(json!({"idle_timeout_seconds": 2}));
    let mut peer = server.peer();
    let line = schedule("x", "1", 1).replacen(r#""route_key":"x","#, "", 1);
    assert_eq!(peer.ask(&line)["kind"], "ack");
    let delivery = peer.delivery();
    assert!(peer.removes(&delivery));
    assert_eq!(server.peer().line(), None);
    peer.quiet();
}
