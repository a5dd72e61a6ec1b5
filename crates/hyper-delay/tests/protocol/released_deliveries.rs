//! Deliveries that end without an ack and have not failed.

use std::{collections::BTreeSet, thread, time::Instant};

use serde_json::json;
use testkit::{
    PATIENCE, Peer,
    request::{echo, echo_with, schedule},
};

use crate::{deliveries, server::Server};

/// A round that fails is the last one.
fn strict() -> Server {
    Server::start(json!({"max_attempts": 1, "retry_delay_ms": 1, "max_retry_delay_ms": 1}))
}

/// A consumer that does nothing and leaves as planned costs its tasks nothing.
#[test]
fn consumers_that_unregister_and_give_back_unharmed_cost_no_attempt() {
    const TASKS: usize = 300;
    let server = strict();
    let mut producer = server.peer();
    for id in 0..TASKS {
        producer.due("a", &id.to_string());
    }
    for _ in 0..3 {
        let mut consumer = server.peer();
        consumer.register_with("a", r#""credit":100"#);
        let deliveries: Vec<_> = (0..100).map(|_| consumer.delivery()).collect();
        let gone = consumer.ask(r#"{"kind":"unregister","route_key":"a"}"#);
        assert_eq!(gone["kind"], "unregistered");
        for delivery in deliveries {
            consumer.send(echo_with("nack", &delivery, r#""failed":false"#));
        }
        consumer.quiet();
    }
    let mut consumer = server.consumer("a");
    for _ in 0..TASKS {
        let delivery = consumer.delivery();
        assert!(consumer.removes(&delivery));
    }
    assert_eq!(producer.stats("a")["dead"], 0);
}

#[test]
fn another_consumer_gets_at_once_what_one_gives_back_unharmed() {
    let hour = 3_600_000;
    let server = Server::start(
        json!({"retry_delay_ms": hour, "max_retry_delay_ms": hour, "ack_timeout_ms": hour}),
    );
    let mut first = server.consumer("a");
    first.due("a", "1");
    let delivery = first.delivery();
    first.send(echo_with("nack", &delivery, r#""failed":false"#));
    first.quiet();
    let mut second = server.consumer("a");
    let delivery = second.delivery();
    assert_eq!(delivery["attempt"], 2);
    second.send(echo_with(
        "nack",
        &delivery,
        r#""failed":false,"delay_ms":1"#,
    ));
    // The delay counts for the one that gives it; the other one still rests.
    let again = second.delivery();
    assert_eq!(again["attempt"], 3);
    assert!(second.removes(&again));
    first.quiet();
}

#[test]
fn failed_is_true_or_false() {
    let server = strict();
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let delivery = peer.delivery();
    let refused = peer.ask(&echo_with("nack", &delivery, r#""failed":"no""#));
    assert_eq!(
        (&refused["kind"], &refused["code"]),
        (&json!("error"), &json!("bad_field"))
    );
    assert!(peer.removes(&delivery));
    peer.due("a", "2");
    let delivery = peer.delivery();
    peer.send(echo_with("nack", &delivery, r#""failed":true"#));
    peer.stats_until("a", |stats| stats["dead"] == 1);
}

/// A connection that takes no bytes is closed: what was not written to it goes to another one.
#[test]
fn deliveries_of_which_nothing_was_written_have_not_failed() {
    /// Deliveries that fill the buffers of a socket several times over.
    const LARGE: usize = 300;
    let server = strict();
    let mut producer = server.peer();
    let payload = "A".repeat(60_000);
    let ids: BTreeSet<String> = (0..LARGE).map(|id| id.to_string()).collect();
    for id in &ids {
        let line = schedule("a", id, 1);
        let line = line.replacen('{', &format!(r#"{{"payload_base64":"{payload}","#), 1);
        assert_eq!(producer.ask(&line)["kind"], "ack");
    }
    let mut stuck = server.peer();
    stuck.register_with("a", r#""credit":65535"#);
    let registered = Instant::now();
    while producer.stats("a")["in_flight"] != LARGE {
        assert!(registered.elapsed() < PATIENCE, "not all are in flight");
        thread::yield_now();
    }
    drop(stuck);
    let mut other = server.consumer("a");
    let mut received = BTreeSet::new();
    loop {
        for delivery in deliveries::received(&mut other) {
            assert_eq!(delivery["attempt"], 2);
            received.insert(delivery["id"].as_str().unwrap().to_owned());
            other.send(echo("ack", &delivery));
        }
        let stats = producer.stats("a");
        if ["waiting", "parked", "in_flight"]
            .iter()
            .all(|it| stats[it] == 0)
        {
            break;
        }
        assert!(registered.elapsed() < PATIENCE, "{stats}");
    }
    let dead: BTreeSet<String> = dead(&mut producer);
    assert!(dead.len() < LARGE / 2, "{} were written", dead.len());
    assert_eq!(dead.len() + received.len(), LARGE);
    assert_eq!(&dead | &received, ids);
}

fn dead(producer: &mut Peer) -> BTreeSet<String> {
    let reply = producer.ask(r#"{"kind":"dead","route_key":"a","limit":1000}"#);
    let tasks = reply["tasks"].as_array().expect("there are tasks");
    let ids = tasks
        .iter()
        .map(|task| task["id"].as_str().expect("it has an id"));
    ids.map(str::to_owned).collect()
}
