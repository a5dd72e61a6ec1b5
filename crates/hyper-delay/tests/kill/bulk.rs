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

/// Returns the due times of the tasks of route `a`, less the one that they had at first.
fn shifts(peer: &mut Peer, at: u64) -> Vec<(String, u64)> {
    let mut shifts = Vec::new();
    let mut after = String::new();
    loop {
        let page = peer.ask(&format!(
            r#"{{"kind":"list","route_key":"a","limit":1000{after}}}"#
        ));
        for task in page["tasks"].as_array().unwrap() {
            let id = task["id"].as_str().unwrap().to_owned();
            shifts.push((id, task["due"].as_u64().unwrap() - at));
        }
        match page["next"].as_str() {
            Some(next) => after = format!(r#","after":"{next}""#),
            None => return shifts,
        }
    }
}

#[test]
fn tasks_are_moved_once_over_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let start = || crate::start(directory.path()).run();
    let server = start();
    let at = later();
    fill(&server, at);
    let request = r#"{"kind":"reschedule_all","route_key":"a","shift_ms":5000}"#;
    let (server, ended) = interrupted(server, start, request);
    assert_eq!(
        (&ended["state"], &ended["changed"], &ended["shift_ms"]),
        (&json!("done"), &json!(TASKS), &json!(5_000))
    );
    let shifts = shifts(&mut server.peer(), at);
    assert_eq!(shifts.len(), TASKS);
    let other = shifts.iter().find(|(_, shift)| *shift != 5_000);
    assert_eq!(other, None);
    let audit = server.peer().ask(r#"{"kind":"audit"}"#);
    let lines = audit["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 2, "{audit}");
    assert_eq!(
        (&lines[0]["tasks"], &lines[1]["act"]),
        (&json!(TASKS), &json!("reschedule_all"))
    );
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
