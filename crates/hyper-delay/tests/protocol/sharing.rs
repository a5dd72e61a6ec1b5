use serde_json::json;
use testkit::Peer;

use crate::server::Server;

const REPLACED: &str = r#"{"kind":"unregistered","route_key":"a","reason":"replaced"}"#;

#[test]
fn the_consumer_with_the_fewest_deliveries_in_flight_gets_the_next() {
    let server = Server::start(json!({}));
    let mut peers = [
        server.consumer("a"),
        server.consumer("a"),
        server.consumer("a"),
    ];
    let mut producer = server.peer();
    let mut held = Vec::new();
    for id in 0..9 {
        producer.due("a", &id.to_string());
    }
    for peer in &mut peers {
        held.push([peer.delivery(), peer.delivery(), peer.delivery()]);
        peer.quiet();
    }
    // The less busy consumer gets the next tasks until it is as busy as the others.
    for (place, (peer, [one, two, _])) in peers.iter_mut().zip(held).enumerate() {
        assert!(peer.removes(&one));
        assert!(peer.removes(&two));
        for id in ["x", "y"] {
            producer.due("a", &format!("{id}{place}"));
            peer.delivery();
        }
    }
    for peer in &mut peers {
        peer.quiet();
    }
}

#[test]
fn a_consumer_without_room_is_skipped() {
    let server = Server::start(json!({}));
    let mut small = server.peer();
    small.register_with("a", r#""credit":1"#);
    let mut large = server.consumer("a");
    let mut producer = server.peer();
    for id in 0..5 {
        producer.due("a", &id.to_string());
    }
    small.delivery();
    for _ in 0..4 {
        large.delivery();
    }
    small.quiet();
    large.quiet();
}

fn exclusive(peer: &mut Peer) {
    let reply = peer.register_with("a", r#""mode":"exclusive""#);
    assert_eq!(reply["kind"], "registered");
}

#[test]
fn an_exclusive_registration_takes_the_route_from_all_others() {
    let server = Server::start(json!({}));
    let mut first = server.consumer("a");
    let mut second = server.consumer("a");
    let mut third = server.peer();
    exclusive(&mut third);
    assert_eq!(first.line().as_deref(), Some(REPLACED));
    assert_eq!(second.line().as_deref(), Some(REPLACED));
    let mut producer = server.peer();
    for id in ["1", "2", "3"] {
        producer.due("a", id);
        third.delivery();
    }
    first.quiet();
    second.quiet();
}

#[test]
fn the_newest_registration_wins() {
    let server = Server::start(json!({}));
    let mut first = server.peer();
    exclusive(&mut first);
    let mut second = server.peer();
    exclusive(&mut second);
    assert_eq!(first.line().as_deref(), Some(REPLACED));
    let mut third = server.consumer("a");
    assert_eq!(second.line().as_deref(), Some(REPLACED));
    // From here on it is shared.
    let mut fourth = server.consumer("a");
    third.quiet();
    assert_eq!(fourth.stats("a")["consumers"], 2);
    // The same when a consumer takes the route exclusively and then shares it again.
    exclusive(&mut fourth);
    assert_eq!(third.line().as_deref(), Some(REPLACED));
    fourth.register("a");
    third.register("a");
    fourth.quiet();
    assert_eq!(fourth.stats("a")["consumers"], 2);
}

#[test]
fn a_consumer_that_loses_a_route_keeps_its_deliveries() {
    let server = Server::start(json!({}));
    let mut first = server.consumer("a");
    first.due("a", "1");
    first.due("a", "2");
    let (one, two) = (first.delivery(), first.delivery());
    let mut second = server.peer();
    exclusive(&mut second);
    assert_eq!(first.line().as_deref(), Some(REPLACED));
    second.quiet();
    assert!(first.removes(&one));
    // Given back, it goes to the one that has the route now.
    first.send(testkit::request::echo_with("nack", &two, r#""delay_ms":0"#));
    let again = second.delivery();
    assert_eq!((&again["id"], &again["attempt"]), (&json!("2"), &json!(2)));
    first.quiet();
}

#[test]
fn a_consumer_that_loses_a_route_keeps_its_other_routes() {
    let server = Server::start(json!({}));
    let mut first = server.consumer("a");
    first.register("b");
    let mut second = server.peer();
    exclusive(&mut second);
    assert_eq!(first.line().as_deref(), Some(REPLACED));
    second.due("b", "1");
    assert_eq!(first.delivery()["route_key"], "b");
}
