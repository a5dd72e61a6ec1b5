use serde_json::json;
use testkit::request::{now, schedule};

use crate::{
    bulk::{all_done, schedule_all, take_all},
    server::Server,
};

/// Lets `count` tasks fall due without a consumer, then takes them in order.
fn away(count: usize) {
    let server = Server::start(json!({"ack_timeout_ms": 3_600_000}));
    let start = now() + 1_000;
    // A hundred tasks per millisecond, in order of time. Some are due when they are scheduled.
    schedule_all(server.peer(), count, move |id| {
        schedule("a", &id.to_string(), start + id as u64 / 100)
    });
    let mut peer = server.peer();
    let stats = peer.stats_until("a", |stats| stats["parked"] == count);
    assert_eq!(
        (&stats["waiting"], &stats["in_flight"]),
        (&json!(0), &json!(0))
    );
    peer.register_with("a", r#""credit":1000"#);
    let ids = take_all(&mut peer, count);
    assert!(ids.into_iter().eq(0..count), "in order of time, each once");
    all_done(peer, &server, "a");
}

#[test]
fn tasks_that_fall_due_without_a_consumer_are_delivered_in_order() {
    away(200_000);
}

#[test]
#[ignore = "takes minutes without optimization"]
fn a_million_tasks_that_fall_due_without_a_consumer_are_delivered_in_order() {
    away(1_000_000);
}
