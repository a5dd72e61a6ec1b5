//! A stopped store with tasks in every state, written by the real server.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
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

use super::fault::Files;

pub(super) const ROUTES: [&str; 3] = ["north", "east", "south"];

/// Runs of the server. Tasks of the last one stay in the journal, which is preallocated, as no
/// start has cut it.
const RUNS: usize = 3;

/// Tasks of each state, route and run.
const WAITING: usize = 150;
const PARKED: usize = 100;
const DEAD: usize = 40;
const FINISHED: usize = 60;

/// The journals never hold more than twice the 64 MiB of one, so they turn over earlier.
const MOST_BALLAST: usize = 256 << 20;

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
    /// Writes a store, stops its server and waits until every task is due. The last `flushes` runs
    /// begin with a flush of all spaces to tables.
    pub(super) fn new(stop: Stop, flushes: usize) -> Self {
        assert!((1..RUNS).contains(&flushes));
        // Waiting tasks must not become due before the last server has stopped: a slow machine gets
        // more time.
        let mut margin = 5_000;
        loop {
            let fixture = Self::write(stop, flushes, now() + margin);
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

    fn write(stop: Stop, flushes: usize, all_due: u64) -> Self {
        let directory = super::in_memory();
        let mut expected = Expected {
            all_due,
            ..Expected::default()
        };
        for run in 0..RUNS {
            let server = start(directory.path()).run();
            if run + flushes >= RUNS {
                flush(&server, directory.path(), run, all_due);
            }
            load(&server, run, &mut expected);
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

    /// Reads the files. Asserts that faults can be drawn from tables of every space and from a
    /// preallocated journal.
    pub(super) fn files(&self) -> Files {
        let files = Files::read(self.directory.path());
        let kinds = files.kinds();
        for space in [
            "tasks", "names", "waiting", "parked", "dead", "done-odd", "counts", "meta",
        ] {
            assert!(
                kinds.contains_key(&format!("table of {space}")),
                "{kinds:?}"
            );
        }
        let journals = kinds["journal"].iter().map(|file| files.extent(file));
        let is_preallocated = |(length, written)| length > written && written > 100_000;
        assert!(
            journals.clone().any(is_preallocated),
            "{:?}",
            journals.collect::<Vec<_>>()
        );
        files
    }
}

/// A server whose tasks die after one failure.
pub(super) fn start(directory: &Path) -> Start<'_> {
    Start::new(env!("CARGO_BIN_EXE_hyper-delay"), directory).config(json!({
        "data_dir": "data",
        "max_attempts": 1,
        "window_ms": 1_000,
        "dedupe_seconds": 100_000,
        "max_line_bytes": 256 << 10,
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
        let lines: Vec<Vec<u8>> = requests.iter().map(line).collect();
        wire.send(&lines.concat()).unwrap();
        let mut replies = 0;
        while replies < requests.len() {
            for reply in wire.receive(PATIENCE).unwrap() {
                assert_eq!(text(&reply, "kind"), kind, "{reply}");
                replies += 1;
            }
        }
    }
}

fn load(server: &Server, run: usize, expected: &mut Expected) {
    let mut wire = Wire::to(server.address).unwrap();
    let names = |state: &str, count: usize| -> Vec<Name> {
        let numbers = (0..count).flat_map(|number| ROUTES.map(|route| (route, number)));
        numbers
            .map(|(route, number)| (route.to_owned(), format!("{state}-{run}-{number:04}")))
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
    if run > 0 {
        // What earlier runs left parked would be delivered to the consumers below.
        let parked: Vec<Name> = expected.due.keys().cloned().collect();
        let parked: Vec<Name> = parked
            .into_iter()
            .filter(|(_, id)| id.starts_with("parked"))
            .collect();
        let requests: Vec<Value> = parked
            .iter()
            .map(|name| schedule(name, expected.all_due, &payload(name, run)))
            .collect();
        ask(&mut wire, &requests, "ack");
        for name in parked {
            let payload = payload(&name, run);
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
}

/// Writes and removes tasks until the journals are deleted that there are now: every space is
/// flushed to a table then.
fn flush(server: &Server, directory: &Path, run: usize, fire_at: u64) {
    const SIZE: usize = 128 << 10;
    let heavy = BASE64.encode(vec![b'!'; SIZE]);
    let mut wire = Wire::to(server.address).unwrap();
    let before = journals(directory);
    for number in 0..MOST_BALLAST / SIZE {
        let name = (ROUTES[0].to_owned(), format!("ballast-{run}-{number}"));
        let (route, id) = &name;
        let cancel = json!({"kind": "cancel", "id": id, "route_key": route});
        ask(&mut wire, &[schedule(&name, fire_at, &heavy)], "ack");
        ask(&mut wire, &[cancel], "cancelled");
        let now = journals(directory);
        if before.iter().all(|journal| !now.contains(journal)) {
            return;
        }
    }
    panic!("{before:?} are not deleted");
}

fn journals(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory.join("data/store")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "jnl"))
        .collect()
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
