use std::time::{Duration, Instant};

use serde_json::json;
use testkit::request::{echo, echo_with};

use crate::server::Server;

#[test]
fn a_nack_has_no_reply_and_the_next_round_comes_after_its_delay() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let mut delivery = peer.delivery();
    for attempt in 2..5 {
        let start = Instant::now();
        peer.send(echo_with("nack", &delivery, r#""delay_ms":200"#));
        delivery = peer.delivery();
        assert!(start.elapsed() >= Duration::from_millis(190));
        assert_eq!(delivery["attempt"], attempt);
    }
    assert!(peer.removes(&delivery));
    peer.quiet();
    assert_eq!(peer.all_stats()["unknown_acks"], 0);
}

#[test]
fn a_nack_may_name_the_id_alone() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    peer.delivery();
    peer.send(r#"{"kind":"nack","id":"1","delay_ms":0}"#);
    assert_eq!(peer.delivery()["attempt"], 2);
}

#[test]
fn a_nack_of_no_delivery_is_counted_and_ignored() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let delivery = peer.delivery();
    for request in [
        r#"{"kind":"nack","id":"2"}"#,
        r#"{"kind":"nack","id":"1","route_key":"b"}"#,
        r#"{"kind":"nack","id":"1","attempt":2}"#,
    ] {
        peer.send(request);
    }
    peer.quiet();
    assert_eq!(peer.all_stats()["unknown_acks"], 3);
    assert!(peer.removes(&delivery));
}

#[test]
fn a_nack_returns_its_credit() {
    let server =
        Server::start(json!({"retry_delay_ms": 3_600_000, "max_retry_delay_ms": 3_600_000}));
    let mut peer = server.peer();
    peer.register_with("a", r#""credit":1"#);
    for id in ["1", "2", "3"] {
        peer.due("a", id);
    }
    for id in ["1", "2", "3"] {
        let delivery = peer.delivery();
        assert_eq!(delivery["id"], id);
        peer.send(echo("nack", &delivery));
    }
    peer.quiet();
    let stats = peer.stats_until("a", |stats| stats["waiting"] == 3);
    assert_eq!(
        (&stats["in_flight"], &stats["parked"]),
        (&json!(0), &json!(0))
    );
}

#[test]
fn a_nack_with_a_delay_beyond_the_window_is_delivered_again() {
    let server = Server::start(json!({"window_ms": 1000}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let delivery = peer.delivery();
    let start = Instant::now();
    peer.send(echo_with("nack", &delivery, r#""delay_ms":2500"#));
    assert_eq!(peer.delivery()["attempt"], 2);
    assert!(start.elapsed() >= Duration::from_millis(2490));
}
