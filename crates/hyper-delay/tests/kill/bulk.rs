//! A kill in the middle of a bulk operation.

use serde_json::{Value, json};
use testkit::{
    Peer, Server,
    request::{echo, later, schedule},
};

const TASKS: usize = 20_000;

fn job(peer: &mut Peer) -> Value {
    let mut jobs = peer.ask(r#"{"kind":"jobs"}"#);
    jobs["jobs"][0].take()
}

/// Schedules tasks of route `a`, and waits until they are on disk.
fn fill(server: &Server, at: u64) {
    let mut peer = server.peer();
    let mut sent = 0;
    for answered in 0..TASKS {
        // As many as may be under way.
        while sent < TASKS && sent < answered + 200 {
            peer.send(schedule("a", &sent.to_string(), at));
            sent += 1;
        }
        peer.kind("ack");
    }
}

/// Begins an operation, kills the server when it has changed some tasks, starts it again and waits
/// for the end. Returns the new server.
fn interrupted(server: Server, start: impl Fn() -> Server, request: &str) -> (Server, Value) {
    let mut peer = server.peer();
    let begun = peer.ask(request);
    assert_eq!(begun["kind"], "job", "{begun}");
    let before = peer.until(job, |job| job["changed"] != 0);
    server.kill();
    assert!(before["changed"].as_u64() < Some(TASKS as u64), "{before}");
    let server = start();
    let mut peer = server.peer();
    let after = job(&mut peer);
    assert!(
        after["changed"].as_u64() >= before["changed"].as_u64(),
        "{after}"
    );
    let ended = peer.until(job, |job| job["state"] != "running");
    (server, ended)
}

#[test]
fn a_purge_goes_on_after_a_kill_and_counts_every_task_once() {
    let directory = tempfile::tempdir().unwrap();
    let start = || crate::start(directory.path()).run();
    let server = start();
    fill(&server, later());
    let request = r#"{"kind":"purge","route_key":"a"}"#;
    let (server, ended) = interrupted(server, start, request);
    assert_eq!(
        (&ended["state"], &ended["changed"]),
        (&json!("done"), &json!(TASKS))
    );
    let stats = server.peer().all_stats();
    assert_eq!(
        (&stats["waiting"], &stats["parked"]),
        (&json!(0), &json!(0))
    );
    let audit = server.peer().ask(r#"{"kind":"audit"}"#);
    let acts: Vec<_> = audit["lines"].as_array().unwrap().iter().collect();
    assert_eq!(acts.len(), 2, "{audit}");
    assert_eq!(acts[0]["tasks"], TASKS);
}

#[test]
fn a_kick_of_all_goes_on_after_a_kill_and_kicks_every_task_once() {
    let directory = tempfile::tempdir().unwrap();
    let start = || {
        crate::start(directory.path())
            .config(json!({"data_dir": "data", "max_attempts": 1}))
            .run()
    };
    let server = start();
    fill(&server, 1);
    let mut consumer = server.consumer("a");
    for _ in 0..TASKS {
        let delivery = consumer.delivery();
        consumer.send(echo("nack", &delivery));
    }
    consumer.stats_until("a", |stats| stats["dead"] == TASKS);
    drop(consumer);
    server.peer().ask(r#"{"kind":"pause","route_key":"a"}"#);
    let request = r#"{"kind":"kick_all","route_key":"a"}"#;
    let (server, ended) = interrupted(server, start, request);
    assert_eq!(
        (&ended["state"], &ended["changed"]),
        (&json!("done"), &json!(TASKS))
    );
    let mut peer = server.consumer("a");
    let stats = peer.stats_until("a", |stats| stats["parked"] == TASKS);
    assert_eq!(
        (&stats["dead"], &stats["paused"]),
        (&json!(0), &json!(true))
    );
}
