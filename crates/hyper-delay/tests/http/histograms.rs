use std::time::{Duration, Instant};

use serde_json::json;
use testkit::request::{later, schedule};

use crate::server::{Server, schedule_all};

#[test]
fn each_round_has_a_lateness_and_each_ack_a_time() {
    let server = Server::start(json!({}));
    let mut consumer = server.consumer("a");
    let mut peer = server.peer();
    for id in ["1", "2", "3"] {
        peer.due("a", id);
    }
    let deliveries: Vec<_> = (0..3).map(|_| consumer.delivery()).collect();
    let metrics = server.scrape();
    assert_eq!(metrics.value("lateness_seconds_count"), 3.0);
    assert_eq!(metrics.value("ack_seconds_count"), 0.0);
    for delivery in &deliveries[1..] {
        assert!(consumer.removes(delivery));
    }
    let metrics = server.scrape();
    assert_eq!(metrics.value("lateness_seconds_count"), 3.0);
    assert_eq!(metrics.value("ack_seconds_count"), 2.0);
    assert!(metrics.value("ack_seconds_sum") > 0.0);
}

/// A task that waits for a consumer is late by that time, however long it is.
#[test]
fn the_lateness_is_counted_from_the_time_a_task_is_due() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let before = Instant::now();
    peer.due("a", "1");
    let due = Instant::now();
    schedule_all(
        &mut peer,
        (0..200).map(|id| schedule("b", &id.to_string(), later())),
    );
    let least = due.elapsed();
    server.consumer("a").delivery();
    let most = before.elapsed();
    let metrics = server.scrape();
    assert_eq!(metrics.value("lateness_seconds_count"), 1.0);
    let lateness = Duration::from_secs_f64(metrics.value("lateness_seconds_sum"));
    // The time when it is due is a whole millisecond.
    let rounded = Duration::from_millis(1);
    assert!(lateness + rounded >= least, "{lateness:?} of {least:?}");
    assert!(lateness <= most + rounded, "{lateness:?} of {most:?}");
}

#[test]
fn batches_count_with_their_sizes_and_times() {
    let server = Server::start(json!({"sync": "always"}));
    let mut peer = server.peer();
    let before = server.scrape();
    for id in 0..10 {
        peer.plan("a", &id.to_string(), later());
    }
    let metrics = server.scrape();
    let grown = |name: &str| metrics.value(name) - before.value(name);
    // Each waits for its own batch. The server can write a mark of its own besides.
    assert!((10.0..=12.0).contains(&grown("batch_size_count")));
    assert_eq!(grown("batch_size_count"), grown("commit_seconds_count"));
    assert!(grown("batch_size_sum") >= 10.0);
    assert!(grown("commit_seconds_sum") > 0.0);
    let line = |id: u32| schedule("a", &id.to_string(), later());
    schedule_all(&mut peer, (10..1_010).map(line));
    server.until(&[(r#"schedules_total{result="new"}"#, 1_010.0)]);
    let metrics = server.scrape();
    assert!(metrics.value("batch_size_sum") >= 1_010.0);
}
