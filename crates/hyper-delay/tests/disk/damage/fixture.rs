//! A stopped store with tasks in every state, written by the real server.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    thread,
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{
    PATIENCE, Server, Start, Wire,
    request::now,
    wire::{line, text},
};

pub(super) const ROUTES: [&str; 3] = ["north", "east", "south"];

/// Rounds of load. All but the last write more than the journals may hold, so every space is
/// flushed to a table.
const ROUNDS: usize = 3;

/// Tasks of each state, route and round.
const WAITING: usize = 150;
const PARKED: usize = 100;
const DEAD: usize = 40;
const FINISHED: usize = 60;

/// Large tasks of each round, cancelled at once.
const BALLAST: usize = 1_500;

/// A route and an id.
pub(super) type Name = (String, String);

/// How the server of the fixture stops.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stop {
    Term,
    Kill,
}

/// The tasks that a store must have.
#[derive(Debug, Default, Clone)]
pub(super) struct Expected {
    /// Waiting or parked tasks and their payloads in base64.
    pub(super) due: BTreeMap<Name, String>,
    pub(super) dead: BTreeSet<Name>,
    /// Acknowledged or cancelled tasks.
    pub(super) finished: BTreeSet<Name>,
    /// Unix milliseconds from which every waiting task is due.
    pub(super) all_due: u64,
}

/// A store and what it must have. The data directory is `data`.
#[derive(Debug)]
pub(super) struct Fixture {
    pub(super) directory: TempDir,
    pub(super) expected: Expected,
}

impl Fixture {
    /// Writes a store, stops its server and waits until every task is due.
    pub(super) fn new(stop: Stop) -> Self {
        // Waiting tasks must not become due before the last server has stopped: a slow machine gets
        // more time.
        let mut margin = 30_000;
        loop {
            let fixture = Self::write(stop, now() + margin);
            let all_due = fixture.expected.all_due;
            if now() < all_due {
                while now() <= all_due {
                    thread::sleep(Duration::from_millis(50));
                }
                return fixture;
            }
            margin *= 2;
        }
    }

    fn write(stop: Stop, all_due: u64) -> Self {
        let directory = super::in_memory();
        let mut expected = Expected {
            all_due,
            ..Expected::default()
        };
        for round in 0..ROUNDS {
            let server = start(directory.path()).run();
            load(&server, round, &mut expected);
            match stop {
                Stop::Kill => server.kill(),
                Stop::Term => {
                    server.signal("TERM");
                    let (status, log) = server.ended();
                    assert!(status.success(), "{log}");
                }
            }
            if now() >= all_due {
                break;
            }
        }
        Self {
            directory,
            expected,
        }
    }
}

/// A server whose tasks die after one failure.
pub(super) fn start(directory: &Path) -> Start<'_> {
    Start::new(env!("CARGO_BIN_EXE_hyper-delay"), directory).config(json!({
        "data_dir": "data",
        "max_attempts": 1,
        "window_ms": 1_000,
        "dedupe_seconds": 100_000,
    }))
}

/// A payload of up to 400 bytes that only this task has, in base64.
fn payload((route, id): &Name, revision: usize) -> String {
    let one = format!("{route}/{id}/{revision};");
    let times = 1 + id.bytes().map(usize::from).sum::<usize>() % 20;
    BASE64.encode(one.repeat(times))
}

fn schedule((route, id): &Name, fire_at: u64, payload: &str) -> Value {
    json!({
        "kind": "schedule",
        "id": id,
        "route_key": route,
        "fire_at": fire_at,
        "payload_base64": payload,
        "replace": true,
    })
}

/// Sends requests and waits for as many replies of this kind.
fn ask(wire: &mut Wire, requests: &[Value], kind: &str) {
    for requests in requests.chunks(200) {
        let lines: Vec<u8> = requests.iter().flat_map(line).collect();
        wire.send(&lines).unwrap();
        let mut replies = 0;
        while replies < requests.len() {
            for reply in wire.receive(PATIENCE).unwrap() {
                assert_eq!(text(&reply, "kind"), kind, "{reply}");
                replies += 1;
            }
        }
    }
}

fn load(server: &Server, round: usize, expected: &mut Expected) {
    let mut wire = Wire::to(server.address).unwrap();
    let names = |state: &str, count: usize| -> Vec<Name> {
        let numbers = (0..count).flat_map(|number| ROUTES.map(|route| (route, number)));
        numbers
            .map(|(route, number)| (route.to_owned(), format!("{state}-{round}-{number:04}")))
            .collect()
    };

    // Consumers take and end these tasks before any task is parked on their routes.
    let answer = |state: &str, count: usize, request: &Value, wire: &mut Wire| {
        let names = names(state, count);
        let requests: Vec<Value> = names
            .iter()
            .map(|name| schedule(name, 1, &payload(name, 0)))
            .collect();
        ask(wire, &requests, "ack");
        let mut consumer = Wire::to(server.address).unwrap();
        for route in ROUTES {
            let request = json!({"kind": "register", "route_key": route, "credit": 65_535});
            consumer.send(&line(&request)).unwrap();
        }
        let mut answered = BTreeSet::new();
        while answered.len() < names.len() {
            for message in consumer.receive(PATIENCE).unwrap() {
                if text(&message, "kind") != "delivery" {
                    continue;
                }
                let mut answer = request.clone();
                answer["id"] = message["id"].clone();
                answer["route_key"] = message["route_key"].clone();
                consumer.send(&line(&answer)).unwrap();
                let name = (text(&message, "route_key"), text(&message, "id"));
                answered.insert((name.0.to_owned(), name.1.to_owned()));
            }
        }
        // The consumer's requests take effect in order, so the pong comes after its answers.
        wait_for(&mut consumer, &json!({"kind": "ping"}), "pong");
        names
    };
    if round > 0 {
        // What earlier rounds left parked would be delivered to the consumers below.
        let parked: Vec<Name> = expected.due.keys().cloned().collect();
        let parked: Vec<Name> = parked
            .into_iter()
            .filter(|(_, id)| id.starts_with("parked"))
            .collect();
        let requests: Vec<Value> = parked
            .iter()
            .map(|name| schedule(name, expected.all_due, &payload(name, round)))
            .collect();
        ask(&mut wire, &requests, "ack");
        for name in parked {
            let payload = payload(&name, round);
            expected.due.insert(name, payload);
        }
    }
    let dead = answer("dead", DEAD, &json!({"kind": "nack"}), &mut wire);
    expected.dead.extend(dead);
    let finished = answer("finished", FINISHED, &json!({"kind": "ack"}), &mut wire);
    expected.finished.extend(finished);

    let waiting = names("waiting", WAITING);
    let parked = names("parked", PARKED);
    for (names, fire_at) in [(waiting, expected.all_due), (parked, 1)] {
        let requests: Vec<Value> = names
            .iter()
            .map(|name| schedule(name, fire_at, &payload(name, 0)))
            .collect();
        ask(&mut wire, &requests, "ack");
        let payloads = names.into_iter().map(|name| {
            let payload = payload(&name, 0);
            (name, payload)
        });
        expected.due.extend(payloads);
    }
    // The journals turn over, so that every space is flushed; the tasks of the last round stay in
    // the journal.
    if round + 1 < ROUNDS {
        ballast(&mut wire, round, expected.all_due);
    }
}

/// Writes and removes more than the journals may hold.
fn ballast(wire: &mut Wire, round: usize, fire_at: u64) {
    let heavy = BASE64.encode("heavy!".repeat(8_000));
    let name = |number| (ROUTES[0].to_owned(), format!("ballast-{round}-{number}"));
    for first in (0..BALLAST).step_by(50) {
        let names: Vec<Name> = (first..first + 50).map(name).collect();
        let requests: Vec<Value> = names
            .iter()
            .map(|name| schedule(name, fire_at, &heavy))
            .collect();
        ask(wire, &requests, "ack");
        let requests: Vec<Value> = names
            .iter()
            .map(|(route, id)| json!({"kind": "cancel", "id": id, "route_key": route}))
            .collect();
        ask(wire, &requests, "cancelled");
    }
}

fn wait_for(wire: &mut Wire, request: &Value, kind: &str) {
    wire.send(&line(request)).unwrap();
    loop {
        let replies = wire.receive(PATIENCE).unwrap();
        if replies.iter().any(|reply| text(reply, "kind") == kind) {
            return;
        }
    }
}
