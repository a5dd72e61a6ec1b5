use serde_json::{Value, json};
use testkit::{Peer, request::later};

use crate::server::Server;

fn without_route(peer: &mut Peer) -> Value {
    let ack = peer.ask(r#"{"kind":"schedule","fire_at":1}"#);
    assert_eq!(ack["kind"], "ack", "{ack}");
    ack["route_key"].clone()
}

#[test]
fn a_schedule_without_a_route_uses_the_registered_one() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    assert_eq!(without_route(&mut peer), "a");
    assert_eq!(peer.delivery()["route_key"], "a");
}

#[test]
fn a_connection_without_a_route_gets_its_own() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let route = without_route(&mut peer);
    assert!(
        route
            .as_str()
            .is_some_and(|route| route.starts_with("conn-"))
    );
    assert_eq!(peer.delivery()["route_key"], route);
    assert_eq!(without_route(&mut peer), route);
    assert_ne!(without_route(&mut server.peer()), route);
    // Another connection may schedule for the route.
    server
        .peer()
        .due(route.as_str().expect("it is a text"), "from elsewhere");
    peer.find(|line| line["kind"] == "delivery" && line["id"] == "from elsewhere");
}

#[test]
fn a_connection_with_several_routes_gets_its_own() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.register("b");
    let route = without_route(&mut peer);
    assert!(
        route
            .as_str()
            .is_some_and(|route| route.starts_with("conn-"))
    );
    for registered in ["a", "b"] {
        let request = format!(r#"{{"kind":"unregister","route_key":"{registered}"}}"#);
        peer.ask(&request);
        assert_eq!(without_route(&mut peer), route);
    }
}

#[test]
fn the_own_route_of_a_connection_stays_the_same() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let own = without_route(&mut peer);
    peer.register("a");
    peer.ask(&format!(r#"{{"kind":"unregister","route_key":{own}}}"#));
    assert_eq!(without_route(&mut peer), "a");
    peer.ask(r#"{"kind":"unregister","route_key":"a"}"#);
    assert_eq!(without_route(&mut peer), own);
    // It is registered again.
    let name = own.as_str().expect("it is a text");
    assert_eq!(peer.stats(name)["consumers"], 1);
}

/// A refusal changes nothing, so it registers no route.
#[test]
fn a_schedule_that_the_store_refuses_registers_no_route() {
    let server = Server::start(json!({"quotas": {"conn-*": {"pending_bytes": 3}}}));
    let mut peer = server.peer();
    let schedule = |payload: &str| {
        let at = later();
        format!(r#"{{"kind":"schedule","fire_at":{at},"payload_base64":"{payload}"}}"#)
    };
    let large = schedule("aGVsbG8=");
    for _ in 0..2 {
        let refused = peer.ask(&large);
        assert_eq!(refused["code"], "quota", "{refused}");
        assert_eq!(peer.all_stats()["routes"], json!([]));
    }
    // One that is accepted stays, and so does what the client has registered.
    let accepted = peer.ask(&schedule("aGk="));
    let route = accepted["route_key"].as_str().expect("it is accepted");
    assert_eq!(peer.ask(&large)["code"], "quota");
    assert_eq!(peer.stats(route)["consumers"], 1);
    let mut other = server.peer();
    let refused = other.ask(&large);
    let own = refused["route_key"]
        .as_str()
        .expect("it names the route")
        .to_owned();
    other.register(&own);
    assert_eq!(other.ask(&large)["code"], "quota");
    assert_eq!(other.stats(&own)["consumers"], 1);
}

#[test]
fn a_refused_schedule_takes_its_route_from_nobody() {
    let server = Server::start(json!({}));
    let mut first = server.peer();
    let route = without_route(&mut first);
    let route = route.as_str().expect("it is a text");
    let known = r#"{"kind":"schedule","fire_at":2,"id":"known"}"#;
    let scheduled = first.ask(known);
    assert_eq!(scheduled["kind"], "ack", "{scheduled}");
    let mut second = server.peer();
    second.register_with(route, r#""mode":"exclusive""#);
    first.find(|line| line["kind"] == "unregistered" && line["reason"] == "replaced");
    let too_far = r#"{"kind":"schedule","fire_at":9000000000000000}"#;
    assert_eq!(first.code(too_far), "bad_field");
    // The disk has a task with that name and other content.
    let other = r#"{"kind":"schedule","fire_at":1,"id":"known"}"#;
    assert_eq!(first.code(other), "duplicate_id");
    assert_eq!(second.stats(route)["consumers"], 1);
    second.due(route, "1");
    second.find(|line| line["kind"] == "delivery" && line["id"] == "1");
}
