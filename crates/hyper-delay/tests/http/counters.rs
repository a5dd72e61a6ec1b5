use serde_json::json;
use testkit::request::{echo, later, now, replace, schedule};

use crate::server::Server;

#[test]
fn schedules_count_by_their_result() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    for id in ["1", "2", "3"] {
        peer.plan("a", id, later());
    }
    let fire_at = later();
    for _ in 0..3 {
        peer.plan("a", "4", fire_at);
    }
    assert_eq!(peer.ask(&replace("a", "1", "eA=="))["kind"], "ack");
    let metrics = server.scrape();
    assert_eq!(metrics.value(r#"schedules_total{result="new"}"#), 4.0);
    assert_eq!(metrics.value(r#"schedules_total{result="repeated"}"#), 2.0);
    assert_eq!(metrics.value(r#"schedules_total{result="replaced"}"#), 1.0);
}

#[test]
fn deliveries_acks_nacks_and_retries_count_one_by_one() {
    let server = Server::start(json!({"retry_delay_ms": 1, "max_attempts": 2}));
    let mut consumer = server.consumer("a");
    let mut peer = server.peer();
    for id in ["1", "2", "3"] {
        peer.due("a", id);
    }
    let first = consumer.delivery();
    assert!(consumer.removes(&first));
    let second = consumer.delivery();
    assert!(consumer.removes(&second));
    // The third is given back once, is delivered again, and dies.
    for attempt in 1..=2 {
        let delivery = consumer.delivery();
        assert_eq!(delivery["attempt"], attempt);
        consumer.send(echo("nack", &delivery));
    }
    // An answer to what is not in flight.
    assert!(!consumer.removes(&first));
    consumer.send(echo("nack", &second));
    let metrics = server.until(&[("dead_letters_total", 1.0), ("unknown_answers_total", 2.0)]);
    for (name, value) in [
        (r#"schedules_total{result="new"}"#, 3.0),
        ("deliveries_total", 4.0),
        ("acks_total", 2.0),
        ("nacks_total", 2.0),
        ("retries_total", 1.0),
        ("dead_letters_total", 1.0),
    ] {
        assert_eq!(metrics.value(name), value, "{name}");
    }
}

#[test]
fn a_round_without_an_answer_counts_as_a_retry() {
    // The second round begins after the test.
    let server = Server::start(json!({
        "ack_timeout_ms": 50, "retry_delay_ms": 3_600_000, "max_retry_delay_ms": 3_600_000,
    }));
    let _consumer = server.consumer("a");
    server.peer().due("a", "1");
    let metrics = server.until(&[("retries_total", 1.0)]);
    assert_eq!(metrics.value("nacks_total"), 0.0);
    assert_eq!(metrics.value("acks_total"), 0.0);
}

#[test]
fn acks_of_removed_tasks_do_not_count_as_acks() {
    let server = Server::start(json!({}));
    let mut consumer = server.consumer("a");
    let mut peer = server.peer();
    peer.due("a", "1");
    let delivery = consumer.delivery();
    let cancelled = peer.ask(r#"{"kind":"cancel","id":"1","route_key":"a"}"#);
    assert_eq!(cancelled["found"], true);
    assert!(!consumer.removes(&delivery));
    let metrics = server.scrape();
    assert_eq!(metrics.value("deliveries_total"), 1.0);
    assert_eq!(metrics.value("acks_total"), 0.0);
}

#[test]
fn refusals_count_by_their_reason() {
    let server = Server::start(json!({"max_routes_per_connection": 1, "max_connections": 2,
        "reserved_connections": 0}));
    let mut peer = server.peer();
    peer.plan("a", "1", now() + 3_600_000);
    assert_eq!(
        peer.code(&schedule("a", "1", now() + 7_200_000)),
        "duplicate_id"
    );
    assert_eq!(peer.code(r#"{"kind":"no"}"#), "unknown_kind");
    assert_eq!(peer.code(r#"{"kind":"no"}"#), "unknown_kind");
    assert_eq!(peer.code(r#"{"kind":"register"}"#), "missing_field");
    peer.register("a");
    let second = r#"{"kind":"register","route_key":"b"}"#;
    assert_eq!(peer.code(second), "too_many_routes");
    let mut other = server.peer();
    other.quiet();
    assert_eq!(server.peer().kind("error")["code"], "too_many_connections");
    let metrics = server.scrape();
    for (reason, count) in [
        ("duplicate_id", 1.0),
        ("unknown_kind", 2.0),
        ("missing_field", 1.0),
        ("too_many_routes", 1.0),
        ("too_many_connections", 1.0),
        ("bad_json", 0.0),
        ("disk_full", 0.0),
        ("host_not_allowed", 0.0),
    ] {
        let name = format!("refusals_total{{reason=\"{reason}\"}}");
        assert_eq!(metrics.value(&name), count, "{reason}");
    }
}
