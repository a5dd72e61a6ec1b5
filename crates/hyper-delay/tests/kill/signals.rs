//! Shutdown on SIGINT and SIGTERM.

use serde_json::json;
use testkit::{
    PATIENCE, Wire,
    request::now,
    wire::{line, text},
};

/// Sends many requests, then the signal. Asserts that the server exits with code 0, and that after
/// a restart it delivers as many tasks as it acknowledged.
fn shuts_down_on(signal: &str) {
    const TASKS: usize = 500;
    let directory = tempfile::tempdir().unwrap();
    let start = crate::start(directory.path());
    let server = start.run();
    let mut wire = Wire::to(server.address).unwrap();
    wire.send(&line(&json!({"kind": "ping"}))).unwrap();
    while wire.receive(PATIENCE).unwrap().is_empty() {}
    let fire_at = now() + 200;
    for id in 0..TASKS {
        let id = id.to_string();
        let request = json!({"kind": "schedule", "id": id, "route_key": "r", "fire_at": fire_at});
        wire.send(&line(&request)).unwrap();
    }
    // The first reply shows that the server has read some requests. It answers all that it has
    // read.
    let mut acknowledged = wire.receive(PATIENCE).unwrap();
    server.signal(signal);
    while let Ok(replies) = wire.receive(PATIENCE) {
        acknowledged.extend(replies);
    }
    let (status, log) = server.ended();
    assert_eq!(status.code(), Some(0), "{log}");
    let is_error = |reply: &serde_json::Value| text(reply, "kind") == "error";
    for refusal in acknowledged.extract_if(.., |reply| is_error(reply)) {
        assert_eq!(text(&refusal, "code"), "shutting_down");
    }
    assert!(
        acknowledged
            .iter()
            .all(|reply| text(reply, "kind") == "ack")
    );

    let server = start.run();
    let mut wire = Wire::to(server.address).unwrap();
    wire.send(&line(
        &json!({"kind": "register", "route_key": "r", "credit": 65535}),
    ))
    .unwrap();
    let mut delivered = 0;
    while delivered < acknowledged.len() {
        let messages = wire.receive(PATIENCE).unwrap();
        assert!(
            !messages.is_empty(),
            "{delivered} of {} are delivered",
            acknowledged.len()
        );
        let is_delivery = |message: &&serde_json::Value| text(message, "kind") == "delivery";
        delivered += messages.iter().filter(is_delivery).count();
    }
    println!("{} of {TASKS} were acknowledged", acknowledged.len());
}

#[test]
fn sigint_shuts_down_and_keeps_acknowledged_tasks() {
    shuts_down_on("INT");
}

#[test]
fn sigterm_shuts_down_and_keeps_acknowledged_tasks() {
    shuts_down_on("TERM");
}
