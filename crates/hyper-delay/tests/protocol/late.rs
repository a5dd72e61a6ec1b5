use serde_json::json;
use testkit::request::{echo_with, replace};

use crate::server::Server;

fn quick() -> Server {
    Server::start(json!({"ack_timeout_ms": 300, "retry_delay_ms": 1}))
}

#[test]
fn a_round_fails_at_its_ack_timeout() {
    let server = quick();
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    for attempt in 1..4 {
        let delivery = peer.delivery();
        assert_eq!(delivery["attempt"], attempt);
        assert_eq!(delivery["id"], "1");
    }
}

#[test]
fn another_connection_is_preferred_for_the_next_round() {
    let server = quick();
    let mut peers = [server.consumer("a"), server.consumer("a")];
    server.peer().due("a", "1");
    let tags = [peers[0].delivery(), peers[1].delivery()];
    assert_eq!([&tags[0]["attempt"], &tags[1]["attempt"]], [1, 2]);
    assert_eq!(peers[0].delivery()["attempt"], 3);
    assert_eq!(peers[1].delivery()["attempt"], 4);
}

#[test]
fn a_late_ack_counts_while_the_task_waits() {
    let server = Server::start(
        json!({"ack_timeout_ms": 300, "retry_delay_ms": 3_600_000, "max_retry_delay_ms": 3_600_000}),
    );
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let delivery = peer.delivery();
    peer.stats_until("a", |stats| stats["in_flight"] == 0);
    assert_eq!(peer.stats("a")["waiting"], 1);
    assert!(peer.removes(&delivery));
    assert_eq!(peer.stats("a")["waiting"], 0);
    assert_eq!(peer.all_stats()["unknown_acks"], 0);
}

#[test]
fn a_late_ack_counts_while_the_task_is_in_flight_elsewhere() {
    let server = quick();
    let mut first = server.consumer("a");
    let mut second = server.consumer("a");
    second.due("a", "1");
    let late = first.delivery();
    second.delivery();
    assert!(first.removes(&late));
    assert_eq!(first.stats("a")["waiting"], 0);
}

#[test]
fn a_late_ack_matches_its_round() {
    let server = Server::start(json!({"ack_timeout_ms": 1000, "retry_delay_ms": 1}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let late = peer.delivery();
    peer.delivery();
    assert!(peer.removes(&late));
    peer.quiet();
    assert_eq!(peer.all_stats()["unknown_acks"], 0);
}

#[test]
fn a_late_ack_counts_while_the_task_is_parked() {
    let server = quick();
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let late = peer.delivery();
    peer.ask(r#"{"kind":"unregister","route_key":"a"}"#);
    peer.stats_until("a", |stats| stats["parked"] == 1);
    assert!(peer.removes(&late));
    assert!(
        peer.stats("a")
            .get("parked")
            .is_none_or(|parked| parked == 0)
    );
}

#[test]
fn a_late_ack_counts_when_the_task_is_dead() {
    let server = Server::start(json!({"ack_timeout_ms": 300, "max_attempts": 1}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let late = peer.delivery();
    peer.stats_until("a", |stats| stats["dead"] == 1);
    assert!(peer.removes(&late));
    assert_eq!(peer.stats("a")["dead"], 0);
    // The task is done: its name is remembered.
    assert_eq!(
        peer.code(&testkit::request::schedule("a", "1", 2)),
        "duplicate_id"
    );
}

#[test]
fn a_late_ack_of_an_older_revision_removes_nothing() {
    let server = quick();
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let late = peer.delivery();
    peer.delivery();
    peer.ask(&replace("a", "1", "aGVsbG8="));
    assert!(!peer.removes(&late));
    let new = peer.find(|line| line["payload_base64"] == "aGVsbG8=");
    assert!(new["attempt"].as_u64() >= Some(3));
}

#[test]
fn a_late_nack_is_counted_and_ignored() {
    let server = Server::start(
        json!({"ack_timeout_ms": 300, "retry_delay_ms": 3_600_000, "max_retry_delay_ms": 3_600_000}),
    );
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let delivery = peer.delivery();
    peer.stats_until("a", |stats| stats["in_flight"] == 0);
    peer.send(echo_with("nack", &delivery, r#""delay_ms":0"#));
    peer.quiet();
    assert_eq!(peer.all_stats()["unknown_acks"], 1);
    // It can still be acknowledged.
    assert!(peer.removes(&delivery));
}

#[test]
fn the_latest_1024_unanswered_deliveries_are_remembered() {
    let server = Server::start(json!({"ack_timeout_ms": 2_000, "max_attempts": 1}));
    let mut peer = server.peer();
    peer.register_with("a", r#""credit":1024"#);
    peer.due("a", "first");
    let first = peer.delivery();
    peer.stats_until("a", |stats| stats["dead"] == 1);
    let line = |id| testkit::request::schedule("a", &format!("{id}"), 1);
    for id in 0..1024 {
        peer.send(line(id));
    }
    let deliveries: Vec<_> = (0..1024).map(|_| peer.delivery()).collect();
    peer.stats_until("a", |stats| stats["dead"] == 1025);
    assert!(!peer.removes(&first), "it is one too old");
    for delivery in &deliveries {
        assert!(peer.removes(delivery), "{delivery}");
    }
}
