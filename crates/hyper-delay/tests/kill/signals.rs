//! Being asked to end.

use serde_json::json;
use testkit::{
    PATIENCE, Wire,
    request::now,
    wire::{line, text},
};

/// Many requests, then the signal as soon as they are sent: what was answered is kept, and the end is in order.
fn ends_in_order_on(signal: &str) {
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
    // A round trip of one byte at least: some were read by then, and whatever was is answered.
    let mut acknowledged = wire.receive(PATIENCE).unwrap();
    server.signal(signal);
    while let Ok(replies) = wire.receive(PATIENCE) {
        acknowledged.extend(replies);
    }
    let (status, log) = server.ended();
    assert_eq!(status.code(), Some(0), "{log}");
    let refused = |reply: &serde_json::Value| text(reply, "kind") == "error";
    for refusal in acknowledged.extract_if(.., |reply| refused(reply)) {
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
            "{delivered} of {}",
            acknowledged.len()
        );
        let is_delivery = |message: &&serde_json::Value| text(message, "kind") == "delivery";
        delivered += messages.iter().filter(is_delivery).count();
    }
    println!("{} of {TASKS} were acknowledged", acknowledged.len());
}

#[test]
fn on_sigint_it_answers_what_it_has_read_and_ends() {
    ends_in_order_on("INT");
}

#[test]
fn on_sigterm_it_answers_what_it_has_read_and_ends() {
    ends_in_order_on("TERM");
}
