use std::{
    ops::Range,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{
    Peer,
    request::{echo_with, replace, schedule},
};

use crate::{
    deliveries::{ACK_TIMEOUTS, hold, received},
    server::Server,
};

fn quick() -> Server {
    Server::start(json!({"ack_timeout_ms": 300, "retry_delay_ms": 1}))
}

/// The second round of a task begins after the test.
fn one_round() -> Value {
    json!({"retry_delay_ms": 3_600_000, "max_retry_delay_ms": 3_600_000})
}

/// Starts a server whose task is in this state after a round without an answer. Returns its
/// delivery, too.
fn late(mut config: Value, state: &str) -> (Server, Peer, Value) {
    let found = ACK_TIMEOUTS.into_iter().find_map(|ack_timeout| {
        config["ack_timeout_ms"] = json!(ack_timeout);
        let server = Server::start(config.clone());
        let mut peer = server.consumer("a");
        peer.due("a", "1");
        peer.until(
            |peer| peer.ask(r#"{"kind":"get","route_key":"a","id":"1"}"#),
            |task| task["state"] == state && task["attempt"] == 1,
        );
        let delivery = received(&mut peer).pop()?;
        Some((server, peer, delivery))
    });
    found.expect("its copy is sent")
}

fn attempt(delivery: &Value) -> u64 {
    delivery["attempt"].as_u64().expect("it is a number")
}

#[test]
fn a_round_fails_at_its_ack_timeout() {
    let server = quick();
    let mut peer = server.consumer("a");
    let start = Instant::now();
    peer.due("a", "1");
    let mut last = 0;
    for _ in 0..3 {
        let delivery = peer.delivery();
        assert_eq!(delivery["id"], "1");
        // On a slow machine a round can end before its copy is sent. None ends early.
        let attempt = attempt(&delivery);
        assert!(attempt > last, "{attempt} after {last}");
        let least = Duration::from_millis(300 * (attempt - 1));
        assert!(start.elapsed() >= least, "{delivery}");
        last = attempt;
    }
}

#[test]
fn another_connection_is_preferred_for_the_next_round() {
    let server = quick();
    let mut peers = [server.consumer("a"), server.consumer("a")];
    server.peer().due("a", "1");
    // On a slow machine a round can end before its copy is sent. The connections still alternate.
    for (peer, remainder) in peers.iter_mut().zip([1, 0]) {
        for _ in 0..2 {
            let delivery = peer.delivery();
            assert_eq!(attempt(&delivery) % 2, remainder, "{delivery}");
        }
    }
}

#[test]
fn a_late_ack_counts_while_the_task_waits() {
    let (_server, mut peer, delivery) = late(one_round(), "waiting");
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
    let server = quick();
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let late = peer.delivery();
    hold(&mut peer);
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
    let (_server, mut peer, delivery) = late(json!({"max_attempts": 1}), "dead");
    assert_eq!(peer.stats("a")["dead"], 1);
    assert!(peer.removes(&delivery));
    assert_eq!(peer.stats("a")["dead"], 0);
    // The task is done: its name is remembered.
    assert_eq!(peer.code(&schedule("a", "1", 2)), "duplicate_id");
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
    assert!(attempt(&new) >= 3);
}

#[test]
fn a_late_nack_is_counted_and_ignored() {
    let (_server, mut peer, delivery) = late(one_round(), "waiting");
    peer.send(echo_with("nack", &delivery, r#""delay_ms":0"#));
    peer.quiet();
    assert_eq!(peer.all_stats()["unknown_acks"], 1);
    // It can still be acknowledged.
    assert!(peer.removes(&delivery));
}

#[test]
fn a_late_touch_finds_none_and_has_the_names_that_it_gave() {
    let (_server, mut peer, delivery) = late(one_round(), "waiting");
    let id = &delivery["id"];
    peer.exact(
        &format!(r#"{{"kind":"touch","id":{id}}}"#),
        &format!(r#"{{"kind":"touched","id":{id},"found":false}}"#),
    );
    assert!(peer.removes(&delivery));
}

#[test]
fn the_latest_1024_unanswered_deliveries_are_remembered() {
    let are_remembered = |ack_timeout: u64| {
        let server = Server::start(json!({"ack_timeout_ms": ack_timeout, "max_attempts": 1}));
        let mut peer = server.peer();
        peer.register_with("a", r#""credit":1024"#);
        let mut unanswered = |ids: Range<u32>| {
            for id in ids.clone() {
                peer.send(schedule("a", &id.to_string(), 1));
            }
            peer.stats_until("a", |stats| stats["dead"] == ids.end);
            received(&mut peer)
        };
        let first = unanswered(0..1);
        let others = unanswered(1..1025);
        if first.len() + others.len() < 1025 {
            return false;
        }
        assert!(!peer.removes(&first[0]), "it is one too old");
        for delivery in &others {
            assert!(peer.removes(delivery), "{delivery}");
        }
        true
    };
    let mut ack_timeouts = ACK_TIMEOUTS.into_iter();
    assert!(ack_timeouts.any(are_remembered), "not all are sent");
}
