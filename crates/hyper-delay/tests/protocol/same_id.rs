use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{
    Peer,
    request::{echo_with, now, schedule},
};

use crate::{deliveries::ACK_TIMEOUTS, server::Server};

/// Tasks with one id on both routes, due in the same millisecond.
fn twins(peer: &mut Peer, id: &str, at: u64) {
    let tags = ["a", "b"].map(|route| peer.ask_later(&schedule(route, id, at)));
    for tag in &tags {
        assert_eq!(peer.answer(tag)["kind"], "ack");
    }
}

#[test]
fn a_connection_has_one_delivery_of_an_id_at_a_time_over_all_routes() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.register("b");
    let mut producer = server.peer();
    for answer in ["ack", "nack"] {
        twins(&mut producer, answer, now() + 50);
        let first = peer.delivery();
        // The other is due as well by now.
        producer.plan("c", answer, 1);
        peer.quiet();
        peer.send(format!(
            r#"{{"kind":"{answer}","id":"{answer}","delay_ms":3600000}}"#
        ));
        let second = peer.delivery();
        assert_ne!(first["route_key"], second["route_key"]);
        assert_eq!(first["fire_at"], second["fire_at"]);
        assert!(peer.removes(&second));
        peer.quiet();
    }
}

#[test]
fn the_second_is_delivered_after_the_ack_timeout_of_the_first() {
    let is_delivered = |ack_timeout: u64| {
        let server = Server::start(json!({
            "routes": {"a": {"ack_timeout_ms": ack_timeout}}, "ack_timeout_ms": 3_600_000,
            "retry_delay_ms": 3_600_000, "max_retry_delay_ms": 3_600_000,
        }));
        let mut peer = server.consumer("a");
        peer.register("b");
        let start = Instant::now();
        peer.due("a", "1");
        peer.due("b", "1");
        let first = peer.delivery();
        if first["route_key"] == "b" {
            return false;
        }
        let second = peer.delivery();
        assert!(start.elapsed() >= Duration::from_millis(ack_timeout));
        assert_eq!(second["route_key"], "b");
        // An ack with the id alone is for the latest delivery.
        let acked = peer.ask(r#"{"kind":"ack","id":"1","confirm":true}"#);
        assert_eq!(
            (&acked["route_key"], &acked["removed"]),
            (&json!("b"), &json!(true))
        );
        assert!(peer.removes(&first), "late, and still the same revision");
        true
    };
    let mut ack_timeouts = ACK_TIMEOUTS.into_iter();
    assert!(ack_timeouts.any(is_delivered), "the first is not sent");
}

#[test]
fn two_tasks_with_one_id_are_delivered_to_two_connections() {
    let server = Server::start(json!({}));
    let mut peers = [server.consumer("a"), server.consumer("b")];
    twins(&mut server.peer(), "1", now() + 50);
    let [first, second] = &mut peers;
    let deliveries: [Value; 2] = [first.delivery(), second.delivery()];
    assert_eq!(deliveries[0]["fire_at"], deliveries[1]["fire_at"]);
    assert!(first.removes(&deliveries[0]));
    assert!(second.removes(&deliveries[1]));
}

#[test]
fn a_task_blocked_by_its_id_goes_to_the_other_consumer() {
    let server = Server::start(json!({}));
    let mut both = server.consumer("a");
    both.register("b");
    both.due("a", "1");
    both.delivery();
    let mut other = server.peer();
    other.register_with("b", r#""credit":1"#);
    other.due("b", "1");
    let delivery = other.delivery();
    other.send(echo_with("nack", &delivery, r#""delay_ms":0"#));
    assert_eq!(
        other.delivery()["attempt"],
        2,
        "though another is preferred"
    );
    both.quiet();
}

#[test]
fn a_blocked_id_does_not_delay_other_tasks() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.register("b");
    for id in 0..10 {
        peer.due("a", &id.to_string());
        peer.delivery();
    }
    for id in 0..10 {
        peer.due("b", &id.to_string());
    }
    peer.quiet();
    peer.due("b", "free");
    assert_eq!(peer.delivery()["id"], "free");
}
