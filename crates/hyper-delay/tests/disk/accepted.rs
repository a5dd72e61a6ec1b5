//! A store of many tasks without its journal, after the loss is accepted.

use std::{
    collections::BTreeMap,
    fs,
    net::SocketAddr,
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Map, Value, json};
use testkit::{
    PATIENCE, Wire,
    request::now,
    wire::{line, text},
};

const TASKS: usize = 40_000;

/// Tasks that are scheduled after the loss.
const NEW: usize = 2_000;

/// A payload of about 200 bytes that only this task has, in base64.
fn payload(id: &str) -> String {
    BASE64.encode(id.repeat(200 / id.len()))
}

/// The headers and terms of a task, which follow from its id.
fn fields(id: &str) -> Map<String, Value> {
    super::damage::fields(&("r".to_owned(), id.to_owned()), 0)
}

fn schedule_all(wire: &mut Wire, ids: &[String], fire_at: u64) {
    for ids in ids.chunks(500) {
        let lines = ids.iter().flat_map(|id| {
            let mut request = json!({
                "kind": "schedule",
                "id": id,
                "route_key": "r",
                "fire_at": fire_at,
                "payload_base64": payload(id),
            });
            request.as_object_mut().unwrap().extend(fields(id));
            line(&request)
        });
        wire.send(&lines.collect::<Vec<u8>>()).unwrap();
        super::acks(wire, ids.len()).unwrap();
    }
}

/// Takes and acknowledges all tasks. Returns their payloads in base64 and their headers.
fn take_all(address: SocketAddr) -> BTreeMap<String, (String, Option<Value>)> {
    let mut wire = Wire::to(address).unwrap();
    let register = json!({"kind": "register", "route_key": "r", "credit": 1_000});
    wire.send(&line(&register)).unwrap();
    let mut delivered = BTreeMap::new();
    let mut heard = Instant::now();
    loop {
        let mut is_empty = false;
        let mut requests = Vec::new();
        for message in wire.receive(Duration::from_millis(200)).unwrap() {
            match text(&message, "kind") {
                "delivery" => {
                    heard = Instant::now();
                    let id = text(&message, "id").to_owned();
                    let ack = json!({"kind": "ack", "id": id, "route_key": "r"});
                    requests.extend(line(&ack));
                    let payload = text(&message, "payload_base64").to_owned();
                    delivered.insert(id, (payload, message.get("headers").cloned()));
                }
                "stats" => {
                    let left = ["waiting", "parked", "in_flight"];
                    is_empty = left.iter().all(|state| message[*state] == 0);
                }
                _ => {}
            }
        }
        if is_empty {
            return delivered;
        }
        assert!(heard.elapsed() < PATIENCE, "tasks that are never delivered");
        requests.extend(line(&json!({"kind": "stats"})));
        wire.send(&requests).unwrap();
    }
}

#[test]
fn surviving_and_new_tasks_are_delivered_with_their_own_payloads() {
    let directory = tempfile::tempdir().unwrap();
    let start = || {
        super::start(directory.path())
            .config(json!({"sync": "interval:50ms", "ack_timeout_ms": 60_000}))
    };
    let ids = |prefix: &str, count: usize| -> Vec<String> {
        (0..count)
            .map(|number| format!("{prefix}-{number:05}"))
            .collect()
    };
    let server = start().run();
    let mut wire = Wire::to(server.address).unwrap();
    schedule_all(&mut wire, &ids("old", TASKS), now() + 3_000);
    server.signal("TERM");
    drop(wire);
    let (status, log) = server.ended();
    assert!(status.success(), "{log}");

    fs::remove_file(directory.path().join("data/store/0.jnl")).unwrap();
    start().try_run().unwrap_err();
    // The shell passes arguments to the program that follows its own.
    let accept = ["sh", "-c", "exec \"$0\" serve --accept-loss"];
    let server = start().under(accept.map(str::to_owned).to_vec()).run();
    let mut wire = Wire::to(server.address).unwrap();
    schedule_all(&mut wire, &ids("new", NEW / 2), 1);
    let address = server.address;
    let mut delivered = std::thread::scope(|scope| {
        let taken = scope.spawn(|| take_all(address));
        schedule_all(&mut wire, &ids("later", NEW / 2), 1);
        taken.join().unwrap()
    });
    delivered.extend(take_all(address));
    for (id, found) in &delivered {
        let headers = fields(id).remove("headers");
        assert_eq!(*found, (payload(id), headers), "{id}");
    }
    let count = |prefix| delivered.keys().filter(|id| id.starts_with(prefix)).count();
    let counts = ["old", "new", "later"].map(count);
    println!("{counts:?}\n{}", server.log());
    assert_eq!(counts[1..], [NEW / 2, NEW / 2]);
    assert!(counts[0] > 0 && counts[0] < TASKS, "{counts:?}");
}
