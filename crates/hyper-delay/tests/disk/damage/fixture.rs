//! A stopped store with tasks in every state, written by the real server.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use fastrand::Rng;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use testkit::{
    PATIENCE, Server, Start, Wire,
    request::now,
    wire::{line, text},
};

use super::{
    exchange::{ask, leave, reply, some},
    fault::Files,
    judge::name,
};

pub(super) const ROUTES: [&str; 3] = ["north", "east", "south"];

/// Runs of the server. Tasks of the last one stay in the journal, which is preallocated, as no
/// start has cut it.
const RUNS: usize = 3;

/// Tasks of each state, route and run.
const EXPIRED: usize = 10;
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

/// What the consumer of a task receives: the payload in base64, and the headers.
pub(super) type Received = (String, Option<Value>);

/// The tasks that a store must have.
#[derive(Debug, Default, Clone)]
pub(super) struct Expected {
    /// Waiting or parked tasks and their revisions.
    pub(super) due: BTreeMap<Name, usize>,
    pub(super) dead: BTreeSet<Name>,
    /// Acknowledged tasks, and expired ones whose removal was seen.
    pub(super) finished: BTreeSet<Name>,
    /// Unix milliseconds from which every waiting task is due.
    pub(super) all_due: u64,
}

impl Expected {
    /// Returns what the consumer of a task receives that is waiting or parked.
    pub(super) fn received(&self, name: &Name) -> Option<Received> {
        let revision = *self.due.get(name)?;
        let headers = fields(name, revision).remove("headers");
        Some((payload(name, revision), headers))
    }

    /// Returns the headers and terms of a task that is waiting, parked or dead.
    pub(super) fn fields(&self, name: &Name) -> Map<String, Value> {
        fields(name, self.due.get(name).copied().unwrap_or_default())
    }
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
        let mut margin = 7_000;
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

/// A server whose tasks die after one failure, which is none of a slow consumer.
pub(super) fn start(directory: &Path) -> Start<'_> {
    Start::new(env!("CARGO_BIN_EXE_hyper-delay"), directory).config(json!({
        "data_dir": "data",
        "ack_timeout_ms": 86_400_000,
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

/// The headers and terms of a task, which follow from its name. Each is there or not, whatever the
/// others are; none ends a task while it is tested.
pub(crate) fn fields(name: &Name, revision: usize) -> Map<String, Value> {
    let mut hasher = DefaultHasher::new();
    (name, revision).hash(&mut hasher);
    let mut random = Rng::with_seed(hasher.finish());
    let most_attempts = if name.1.starts_with("dead") { 1 } else { 5 };
    let all = [
        ("headers", json!({"traceparent": name.1, "quote": "\"\\"})),
        (
            "expires_at",
            json!(random.u64(4_000_000_000_000..5_000_000_000_000)),
        ),
        ("ack_timeout_ms", json!(random.u64(60_000..=86_400_000))),
        ("max_attempts", json!(random.u32(1..=most_attempts))),
        ("retry_delay_ms", json!(random.u64(1..1_000))),
        ("max_retry_delay_ms", json!(random.u64(1_000..=86_400_000))),
    ];
    let given = all.into_iter().filter(|_| random.u8(0..3) == 0);
    given
        .map(|(field, value)| (field.to_owned(), value))
        .collect()
}

/// Schedules a revision of a task.
fn schedule(name: &Name, fire_at: u64, revision: usize) -> Value {
    let (route, id) = name;
    let mut request = json!({
        "kind": "schedule",
        "id": id,
        "route_key": route,
        "fire_at": fire_at,
        "payload_base64": payload(name, revision),
        "replace": true,
    });
    request
        .as_object_mut()
        .unwrap()
        .extend(fields(name, revision));
    request
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
        let requests: Vec<Value> = names.iter().map(|name| schedule(name, 1, 0)).collect();
        ask(wire, &requests, "ack");
        let mut consumer = Wire::to(server.address).unwrap();
        for route in ROUTES {
            let request = json!({"kind": "register", "route_key": route, "credit": 65_535});
            consumer.send(&line(&request)).unwrap();
        }
        let mut answered = BTreeSet::new();
        while answered.len() < names.len() {
            for message in some(&mut consumer) {
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
        reply(&mut consumer, &json!({"kind": "ping"}), "pong");
        leave(consumer, wire);
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
            .map(|name| schedule(name, expected.all_due, run))
            .collect();
        ask(&mut wire, &requests, "ack");
        expected
            .due
            .extend(parked.into_iter().map(|name| (name, run)));
    }
    let dead = answer("dead", DEAD, &json!({"kind": "nack"}), &mut wire);
    expected.dead.extend(dead);
    let finished = answer("finished", FINISHED, &json!({"kind": "ack"}), &mut wire);
    expected.finished.extend(finished);

    let expiring = expiring(&mut wire, &names("expired", EXPIRED));
    let waiting = names("waiting", WAITING);
    let parked = names("parked", PARKED);
    for (names, fire_at) in [(waiting, expected.all_due), (parked, 1)] {
        let requests: Vec<Value> = names
            .iter()
            .map(|name| schedule(name, fire_at, 0))
            .collect();
        ask(&mut wire, &requests, "ack");
        expected.due.extend(names.into_iter().map(|name| (name, 0)));
    }
    for name in expiring {
        see_gone(&mut wire, &name);
        expected.finished.insert(name);
    }
}

/// Schedules tasks that expire soon, waiting and parked ones. Returns those that the server has
/// taken: on a slow machine, the time of the others has passed.
fn expiring(wire: &mut Wire, names: &[Name]) -> Vec<Name> {
    let now = now();
    let requests = names.iter().zip([1, now + 300].into_iter().cycle());
    let lines: Vec<Vec<u8>> = requests
        .map(|(name, fire_at)| {
            let mut request = schedule(name, fire_at, 0);
            request["expires_at"] = (now + 500).into();
            line(&request)
        })
        .collect();
    wire.send(&lines.concat()).unwrap();
    let mut taken = Vec::new();
    let mut replies = 0;
    while replies < names.len() {
        for reply in some(wire) {
            replies += 1;
            if text(&reply, "kind") == "ack" {
                taken.push(name(&reply));
            } else {
                assert!(text(&reply, "message").contains("has passed"), "{reply}");
            }
        }
    }
    taken
}

/// Waits until an expired task is gone.
fn see_gone(wire: &mut Wire, (route, id): &Name) {
    let begun = Instant::now();
    let get = line(&json!({"kind": "get", "route_key": route, "id": id}));
    loop {
        wire.send(&get).unwrap();
        let reply = some(wire).pop().unwrap();
        if reply["found"] == false {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{reply}");
        thread::sleep(Duration::from_millis(20));
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
        let mut heavy_task = schedule(&name, fire_at, 0);
        heavy_task["payload_base64"] = heavy.clone().into();
        ask(&mut wire, &[heavy_task], "ack");
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
