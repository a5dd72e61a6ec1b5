use std::time::{Duration, Instant};

use serde_json::json;
use testkit::request::{later, replace, schedule};

use crate::server::Server;

#[test]
fn the_same_content_again_is_acknowledged_and_changes_nothing() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let at = later();
    for _ in 0..3 {
        peer.plan("a", "1", at);
    }
    assert_eq!(peer.stats("a")["waiting"], 1);
}

#[test]
fn the_same_content_twice_in_one_write_makes_one_task() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    let line = schedule("a", "1", 1);
    let tags = [(); 5].map(|()| peer.ask_later(&line));
    for tag in &tags {
        assert_eq!(peer.answer(tag)["kind"], "ack");
    }
    peer.delivery();
    peer.quiet();
}

#[test]
fn the_same_content_again_while_in_flight_or_done_changes_nothing() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let delivery = peer.delivery();
    peer.due("a", "1");
    peer.quiet();
    assert!(peer.removes(&delivery));
    peer.due("a", "1");
    peer.quiet();
    assert_eq!(peer.stats("a")["waiting"], 0);
}

#[test]
fn other_content_for_a_name_that_is_taken_is_refused() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let with = |at: u64, rest: &str| {
        format!(r#"{{"kind":"schedule","id":"1","route_key":"a","fire_at":{at}{rest}}}"#)
    };
    let at = later();
    peer.plan("a", "1", at);
    for other in [
        with(at + 1, ""),
        with(at, r#","payload_base64":"aGVsbG8=""#),
        with(at, r#","compression":"lz4""#),
    ] {
        let error = peer.ask(&other);
        assert_eq!(error["code"], "duplicate_id");
        assert_eq!(
            (&error["id"], &error["route_key"]),
            (&json!("1"), &json!("a"))
        );
    }
    peer.plan("b", "1", at + 1);
    assert_eq!(peer.stats("a")["waiting"], 1);
}

#[test]
fn other_content_while_in_flight_or_done_is_refused() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let delivery = peer.delivery();
    let other = schedule("a", "1", 2);
    assert_eq!(peer.code(&other), "duplicate_id");
    assert!(peer.removes(&delivery));
    assert_eq!(peer.code(&other), "duplicate_id");
}

#[test]
fn a_task_that_is_done_can_be_replaced() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let delivery = peer.delivery();
    assert!(peer.removes(&delivery));
    assert_eq!(peer.ask(&replace("a", "1", "aGVsbG8="))["kind"], "ack");
    let next = peer.delivery();
    assert_eq!(next["payload_base64"], "aGVsbG8=");
    assert_eq!(next["attempt"], 2);
    assert!(peer.removes(&next));
}

/// The ledger is tested to the millisecond; this is the way of the setting to it.
#[test]
fn a_task_that_is_done_is_forgotten_after_dedupe_seconds() {
    let server = Server::start(json!({"dedupe_seconds": 1}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let delivery = peer.delivery();
    let start = Instant::now();
    assert!(peer.removes(&delivery));
    let other = schedule("a", "1", 2);
    peer.until(|peer| peer.ask(&other), |reply| reply["kind"] == "ack");
    // The server counts whole milliseconds.
    assert!(start.elapsed() >= Duration::from_millis(990));
    assert_eq!(peer.delivery()["attempt"], 1);
}

#[test]
fn zero_dedupe_seconds_remember_nothing() {
    let server = Server::start(json!({"dedupe_seconds": 0}));
    let mut peer = server.consumer("a");
    for at in [1, 1, 2] {
        peer.plan("a", "1", at);
        let delivery = peer.delivery();
        assert!(peer.removes(&delivery));
    }
}
