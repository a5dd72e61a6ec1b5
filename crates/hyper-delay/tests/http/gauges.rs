use std::time::Duration;

use serde_json::json;
use testkit::{
    PATIENCE,
    request::{echo, later, now, schedule},
};

use crate::server::{Server, schedule_all};

#[test]
fn tasks_count_by_state_and_route() {
    let server = Server::start(json!({"max_attempts": 1}));
    let mut peer = server.peer();
    peer.plan("a", "later", later());
    peer.plan("a", "soon", now() + 50_000);
    peer.plan("a", "soon too", now() + 40_000);
    peer.due("a", "1");
    peer.due("a", "2");
    peer.plan("b", "later", later());
    server.until(&[
        (r#"pending_tasks{route="a"}"#, 5.0),
        (r#"pending_tasks{route="b"}"#, 1.0),
        (r#"pending_tasks{route="other"}"#, 0.0),
        (r#"due_within_minute_tasks{route="a"}"#, 2.0),
        (r#"due_within_minute_tasks{route="b"}"#, 0.0),
        ("due_within_minute_exact", 1.0),
        (r#"ready_tasks{route="a"}"#, 2.0),
        (r#"in_flight_tasks{route="a"}"#, 0.0),
    ]);
    let mut consumer = server.peer();
    consumer.register_with("a", r#""credit":1"#);
    let delivery = consumer.delivery();
    server.until(&[
        (r#"pending_tasks{route="a"}"#, 5.0),
        (r#"ready_tasks{route="a"}"#, 1.0),
        (r#"in_flight_tasks{route="a"}"#, 1.0),
        (r#"dead_tasks{route="a"}"#, 0.0),
    ]);
    consumer.send(echo("nack", &delivery));
    let delivery = consumer.delivery();
    server.until(&[
        (r#"pending_tasks{route="a"}"#, 4.0),
        (r#"ready_tasks{route="a"}"#, 0.0),
        (r#"in_flight_tasks{route="a"}"#, 1.0),
        (r#"dead_tasks{route="a"}"#, 1.0),
    ]);
    assert!(consumer.removes(&delivery));
    server.until(&[
        (r#"pending_tasks{route="a"}"#, 3.0),
        (r#"in_flight_tasks{route="a"}"#, 0.0),
        (r#"due_within_minute_tasks{route="a"}"#, 2.0),
    ]);
}

/// The scheduler reads only a second ahead, so that these are on disk.
#[test]
fn tasks_on_disk_that_are_due_soon_count_up_to_a_bound() {
    let server = Server::start(json!({"window_ms": 1_000}));
    let mut peer = server.peer();
    let fire_at = now() + 58_000;
    peer.plan("b", "later", later());
    let line = |id: u32| schedule("a", &id.to_string(), fire_at);
    schedule_all(&mut peer, (0..1_500).map(line));
    server.until(&[
        (r#"pending_tasks{route="a"}"#, 1_500.0),
        (r#"due_within_minute_tasks{route="a"}"#, 1_500.0),
        (r#"due_within_minute_tasks{route="b"}"#, 0.0),
        ("due_within_minute_exact", 1.0),
    ]);
    schedule_all(&mut peer, (1_500..3_000).map(line));
    server.until(&[
        (r#"pending_tasks{route="a"}"#, 3_000.0),
        (r#"due_within_minute_tasks{route="a"}"#, 2_000.0),
        ("due_within_minute_exact", 0.0),
    ]);
}

/// Nothing else happens before it is read.
#[test]
fn the_age_of_the_oldest_overdue_task_is_that_of_the_moment() {
    let server = Server::start(json!({}));
    let before = now();
    server.peer().due("a", "1");
    server.until(&[(r#"ready_tasks{route="a"}"#, 1.0)]);
    std::thread::sleep(Duration::from_millis(1_500));
    let overdue = server.scrape().value("oldest_overdue_seconds") * 1e3;
    assert!(overdue >= 1_500.0, "{overdue}");
    assert!(overdue <= (now() - before) as f64, "{overdue}");
}

#[test]
fn the_oldest_overdue_task_is_found_in_memory_and_on_disk() {
    let server = Server::start(json!({"ready_channel_capacity": 1}));
    let mut peer = server.peer();
    peer.plan("a", "later", later());
    let metrics = server.scrape();
    assert_eq!(metrics.value("oldest_overdue_seconds"), 0.0);
    // Parked on disk: there is no consumer.
    let before = now();
    peer.due("a", "1");
    server.until(&[(r#"ready_tasks{route="a"}"#, 1.0)]);
    let mut overdue = 0.0;
    while overdue < 1.0 {
        overdue = server.scrape().value("oldest_overdue_seconds");
        let most = now() - before;
        assert!(overdue * 1e3 <= most as f64, "{overdue} of {most}");
        assert!(Duration::from_millis(most) < PATIENCE, "{overdue}");
    }
    // With a consumer without room it waits in memory, and is still the oldest.
    let mut consumer = server.peer();
    consumer.register_with("b", r#""credit":1"#);
    peer.due("b", "1");
    consumer.delivery();
    consumer.register("a");
    peer.due("a", "2");
    server.until(&[(r#"ready_tasks{route="a"}"#, 2.0)]);
    assert!(server.scrape().value("oldest_overdue_seconds") >= 1.0);
    // In flight it is not overdue.
    let mut free = server.consumer("a");
    free.delivery();
    free.delivery();
    server.until(&[("oldest_overdue_seconds", 0.0)]);
}

#[test]
fn connections_count_by_listener() {
    let server = Server::start(json!({}));
    let mut peers: Vec<_> = (0..3).map(|_| server.peer()).collect();
    for peer in &mut peers {
        peer.quiet();
    }
    server.until(&[
        (r#"connections{listener="tcp"}"#, 3.0),
        (r#"connections{listener="http"}"#, 1.0),
    ]);
    let _open = testkit::http::connect(server.http);
    peers.pop();
    server.until(&[
        (r#"connections{listener="tcp"}"#, 2.0),
        (r#"connections{listener="http"}"#, 2.0),
    ]);
}

#[test]
fn the_store_grows_with_what_is_in_it() {
    let server = Server::start(json!({}));
    let before = server.scrape().value("store_bytes");
    let mut peer = server.peer();
    let payload = "A".repeat(40_000);
    let line = |id: u32| {
        let line = schedule("a", &id.to_string(), later());
        line.replacen('{', &format!(r#"{{"payload_base64":"{payload}","#), 1)
    };
    schedule_all(&mut peer, (0..400).map(line));
    server.until(&[(r#"pending_tasks{route="a"}"#, 400.0)]);
    let after = server.scrape().value("store_bytes");
    assert!(after > before && before >= 0.0, "{before} to {after}");
}
