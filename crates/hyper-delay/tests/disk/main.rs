//! The server's system calls on the disk, and disks that fail or are full.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod accepted;
mod backup;
mod damage;
mod failing;
mod first_start;
mod full;
mod full_disk;
mod names;
mod order;
mod ready;
mod record;
mod strace;
mod trace;
mod watchdog;

use std::{
    collections::BTreeSet,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{
    PATIENCE, Server, Start, Wire,
    wire::{Disconnected, line, text},
};

/// The server with timeouts so short that retries happen within a test.
fn start(directory: &Path) -> Start<'_> {
    Start::new(env!("CARGO_BIN_EXE_hyper-delay"), directory).config(json!({
        "data_dir": "data",
        "ack_timeout_ms": 1_500,
        "retry_delay_ms": 20,
        "max_retry_delay_ms": 200,
        "window_ms": 1_000,
        "dedupe_seconds": 100_000,
    }))
}

/// A schedule of a task with a payload of `size` letters.
fn schedule(id: &str, fire_at: u64, size: usize) -> Vec<u8> {
    let payload = "eHh4".repeat(size / 3);
    line(&json!({
        "kind": "schedule",
        "id": id,
        "route_key": "r",
        "fire_at": fire_at,
        "payload_base64": payload,
    }))
}

/// Returns the ids of the next `count` acks, or of those before the connection broke.
fn acks(wire: &mut Wire, count: usize) -> Result<Vec<String>, (Disconnected, Vec<String>)> {
    let mut acks = Vec::new();
    while acks.len() < count {
        match wire.receive(PATIENCE) {
            Ok(replies) => acks.extend(replies.iter().map(|reply| {
                assert_eq!(text(reply, "kind"), "ack", "{reply}");
                text(reply, "id").to_owned()
            })),
            Err(error) => return Err((error, acks)),
        }
    }
    Ok(acks)
}

/// Whether the server answers a ping, which it does once its store is open.
fn serves(server: &Server) -> bool {
    Wire::to(server.address).is_ok_and(|mut wire| {
        let ping = line(&json!({"kind": "ping"}));
        wire.send(&ping).is_ok() && wire.receive(PATIENCE).is_ok_and(|lines| !lines.is_empty())
    })
}

/// Takes deliveries until all these ids are delivered. Panics after [`PATIENCE`].
fn deliver_all(server: &Server, ids: &BTreeSet<String>) {
    let mut wire = Wire::to(server.address).unwrap();
    wire.send(&line(
        &json!({"kind": "register", "route_key": "r", "credit": 65535}),
    ))
    .unwrap();
    let mut missing = ids.clone();
    let begun = Instant::now();
    while !missing.is_empty() && begun.elapsed() < PATIENCE {
        for message in wire.receive(Duration::from_secs(1)).unwrap() {
            let Value::String(kind) = &message["kind"] else {
                panic!("{message}");
            };
            if kind == "delivery" {
                missing.remove(text(&message, "id"));
                let ack = json!({"kind": "ack", "id": message["id"], "route_key": "r"});
                wire.send(&line(&ack)).unwrap();
            }
        }
    }
    assert!(missing.is_empty(), "lost: {missing:?}");
}
