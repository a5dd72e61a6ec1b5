//! Requests and replies.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{
    PATIENCE, Wire,
    wire::{line, text},
};

/// Sends requests and waits for as many replies of this kind.
pub(super) fn ask(wire: &mut Wire, requests: &[Value], kind: &str) {
    for requests in requests.chunks(200) {
        let lines: Vec<Vec<u8>> = requests.iter().map(line).collect();
        wire.send(&lines.concat()).unwrap();
        let mut replies = 0;
        while replies < requests.len() {
            for reply in some(wire) {
                assert_eq!(text(&reply, "kind"), kind, "{reply}");
                replies += 1;
            }
        }
    }
}

/// Sends a request and returns the reply of this kind. What comes before it is dropped.
pub(super) fn reply(wire: &mut Wire, request: &Value, kind: &str) -> Value {
    wire.send(&line(request)).unwrap();
    loop {
        let mut replies = some(wire).into_iter();
        if let Some(reply) = replies.find(|reply| text(reply, "kind") == kind) {
            return reply;
        }
    }
}

/// The next messages, at least one.
pub(super) fn some(wire: &mut Wire) -> Vec<Value> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let messages = wire.receive(PATIENCE).unwrap();
        if !messages.is_empty() {
            return messages;
        }
    }
    panic!("nothing came within {PATIENCE:?}");
}

/// Closes the connection of a consumer, and waits until the server delivers nothing to it any more:
/// such deliveries would have failed.
pub(super) fn leave(consumer: Wire, wire: &mut Wire) {
    drop(consumer);
    let begun = Instant::now();
    loop {
        let stats = reply(wire, &json!({"kind": "stats"}), "stats");
        let routes = stats["routes"].as_array().unwrap();
        if routes.iter().all(|route| route["consumers"] == 0) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{stats}");
        thread::sleep(Duration::from_millis(5));
    }
}
