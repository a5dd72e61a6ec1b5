use std::time::{Duration, Instant};

use serde_json::json;
use testkit::request::echo;

use crate::server::Server;

#[test]
fn the_wait_doubles_with_each_failure_up_to_max_retry_delay_ms() {
    let server = Server::start(json!({"retry_delay_ms": 40, "max_retry_delay_ms": 320}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let mut delivery = peer.delivery();
    for least in [20, 40, 80, 160, 160, 160] {
        let start = Instant::now();
        peer.send(echo("nack", &delivery));
        delivery = peer.delivery();
        assert!(start.elapsed() >= Duration::from_millis(least - 10));
    }
    // All arrive within the peer's timeout, so no wait exceeds the maximum.
    for _ in 0..3 {
        peer.send(echo("nack", &delivery));
        delivery = peer.delivery();
    }
    assert_eq!(delivery["attempt"], 10);
}

#[test]
fn deliveries_of_an_ended_connection_go_to_another() {
    let server = Server::start(json!({"retry_delay_ms": 1}));
    let mut first = server.consumer("a");
    let mut producer = server.peer();
    for id in 0..10 {
        producer.due("a", &id.to_string());
        assert_eq!(first.delivery()["attempt"], 1);
    }
    let mut second = server.consumer("a");
    second.quiet();
    drop(first);
    let mut ids: Vec<u64> = (0..10)
        .map(|_| {
            let delivery = second.delivery();
            assert_eq!(delivery["attempt"], 2);
            assert!(second.removes(&delivery));
            let id = delivery["id"].as_str().expect("it is a text");
            id.parse().expect("it is a number")
        })
        .collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..10));
    second.quiet();
}

#[test]
fn deliveries_fail_when_their_connection_stops_sending() {
    let server = Server::start(json!({"retry_delay_ms": 1}));
    let mut first = server.consumer("a");
    first.due("a", "1");
    first.delivery();
    first.finish_writing();
    assert_eq!(first.rest(), Vec::<serde_json::Value>::new());
    assert_eq!(server.consumer("a").delivery()["attempt"], 2);
}

#[test]
fn an_answer_before_the_end_of_its_connection_counts() {
    let server = Server::start(json!({"retry_delay_ms": 1}));
    let mut first = server.consumer("a");
    first.due("a", "1");
    let delivery = first.delivery();
    first.send(echo("ack", &delivery));
    drop(first);
    let mut other = server.peer();
    other.stats_until("a", |stats| stats.is_null());
}
