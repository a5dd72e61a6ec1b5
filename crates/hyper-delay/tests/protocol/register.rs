use serde_json::json;
use testkit::request::{all, echo};

use crate::server::Server;

#[test]
fn a_registration_is_answered_with_the_credit() {
    let server = Server::start(json!({"credit": 7}));
    let mut peer = server.peer();
    for (request, credit) in [
        (r#""route_key":"a""#, 7),
        (r#""route_key":"b","credit":65535"#, 65535),
        (r#""route_key":"a""#, 65535),
        (r#""route_key":"a","credit":1"#, 1),
        (r#""route_key":"c""#, 1),
    ] {
        let route = &request[13..14];
        peer.exact(
            &format!(r#"{{"kind":"register",{request}}}"#),
            &format!(r#"{{"kind":"registered","route_key":"{route}","credit":{credit}}}"#),
        );
    }
}

#[test]
fn a_connection_has_no_more_in_flight_than_its_credit_over_all_its_routes() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.register_with("a", r#""credit":2"#);
    peer.register("b");
    let mut producer = server.peer();
    for id in ["1", "2", "3"] {
        producer.due("a", &format!("a{id}"));
        producer.due("b", &format!("b{id}"));
    }
    let mut seen = Vec::new();
    let mut held = vec![peer.delivery(), peer.delivery()];
    while let Some(delivery) = held.pop() {
        peer.quiet();
        assert!(peer.removes(&delivery));
        seen.push(delivery);
        if seen.len() < 5 {
            held.insert(0, peer.delivery());
        }
    }
    let mut ids = all(&seen, "id");
    ids.sort_unstable();
    assert_eq!(ids, ["a1", "a2", "a3", "b1", "b2", "b3"]);
}

#[test]
fn more_credit_allows_more_deliveries_and_less_allows_fewer() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.register_with("a", r#""credit":1"#);
    for id in ["1", "2", "3", "4"] {
        server.peer().due("a", id);
    }
    let first = peer.delivery();
    peer.quiet();
    peer.register_with("other", r#""credit":3"#);
    let second = peer.delivery();
    let third = peer.delivery();
    peer.quiet();
    peer.register_with("a", r#""credit":1"#);
    assert!(peer.removes(&first));
    assert!(peer.removes(&second));
    peer.quiet();
    assert!(peer.removes(&third));
    assert_eq!(peer.delivery()["id"], "4");
}

#[test]
fn unregister_succeeds_for_a_route_that_was_not_registered() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    for _ in 0..2 {
        peer.exact(
            r#"{"kind":"unregister","route_key":"a"}"#,
            r#"{"kind":"unregistered","route_key":"a","reason":"asked"}"#,
        );
    }
}

#[test]
fn deliveries_in_flight_stay_in_flight_after_unregister() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let first = peer.delivery();
    peer.ask(r#"{"kind":"unregister","route_key":"a"}"#);
    peer.due("a", "2");
    assert_eq!(peer.stats("a")["in_flight"], 1);
    assert!(peer.removes(&first));
    peer.stats_until("a", |stats| stats["parked"] == 1);
    peer.quiet();
    peer.register("a");
    assert_eq!(peer.delivery()["id"], "2");
}

#[test]
fn scheduling_for_a_route_does_not_register_it() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.due("a", "1");
    let stats = peer.stats_until("a", |stats| stats["parked"] == 1);
    assert_eq!(stats["consumers"], 0);
    peer.quiet();
}

#[test]
fn a_connection_may_have_many_routes() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    for route in 0..50 {
        peer.register(&format!("r{route}"));
    }
    let mut producer = server.peer();
    for route in 0..50 {
        producer.due(&format!("r{route}"), "same");
        let delivery = peer.delivery();
        assert_eq!(delivery["route_key"], format!("r{route}"));
        peer.send(echo("ack", &delivery));
    }
    peer.quiet();
}

#[test]
fn the_routes_of_an_ended_connection_are_unregistered() {
    let server = Server::start(json!({}));
    let mut other = server.peer();
    let consumer = server.consumer("a");
    assert_eq!(other.stats("a")["consumers"], 1);
    drop(consumer);
    other.stats_until("a", |stats| stats.is_null());
}
