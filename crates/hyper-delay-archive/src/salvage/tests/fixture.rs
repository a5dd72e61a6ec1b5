//! The store of a closed ledger, and copies of it that tests damage.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    backup::{self, BackupStream},
    salvage::{export, repair, repair::RepairSummary, verify},
};
use hyper_delay_engine::{
    ledger::{Ledger, Op, Outcome, ScheduleOrder, TaskRevision},
    sizes::Sizes,
};
use hyper_delay_fjall::Embedded;
use hyper_delay_protocol::{Compression, FailureKind, Headers, LastFailure, Terms};
use hyper_delay_store::{Durability, ReadStore as _, Space, Store as _};

pub(super) const ROUTES: [&str; 2] = ["north", "south"];

/// Number of tasks per state, route and half.
pub(super) const EACH: usize = 40;

/// Tasks by route and id.
pub(super) type ExpectedTasks = BTreeMap<(String, String), Value>;

/// A data directory that no process uses.
pub(super) struct TestDirectory(TempDir);

fn in_memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

/// Writes tasks in every state. Some payloads are longer than a block of a table.
fn write(ledger: &mut Ledger<Embedded>, half: &str) {
    let now = 1_000_000;
    for number in 0..EACH {
        for route in ROUTES {
            for state in ["waiting", "parked", "dead", "finished", "cancelled"] {
                task(
                    ledger,
                    route,
                    &format!("{state}-{half}-{number:03}"),
                    state,
                    now,
                );
            }
        }
        ledger.commit(Durability::Written, now).unwrap();
    }
}

/// The terms of a task follow from its id. Whether it has one does not depend on the others.
pub(super) fn terms(id: &str) -> Option<Terms> {
    let random = xxhash_rust::xxh3::xxh3_64(id.as_bytes());
    let given = |bit: u32, value: u64| (random >> bit & 1 == 1).then_some(value);
    let terms = Terms {
        expires_at: given(8, 10_000_000 + random % 100),
        ack_timeout_ms: given(9, 1_000 + random % 7),
        max_attempts: given(10, 2_000 + random % 7).map(|most| u32::try_from(most).unwrap()),
        retry_delay_ms: given(11, 3_000 + random % 7),
        max_retry_delay_ms: given(12, 4_000 + random % 7),
    };
    (terms != Terms::default()).then_some(terms)
}

/// The headers of a task, which follow from its id, too.
pub(super) fn headers(id: &str) -> Headers {
    match xxhash_rust::xxh3::xxh3_64(id.as_bytes()) >> 13 & 1 {
        0 => Headers::default(),
        _ => Headers::of_text(&format!(r#"{{"id":"{id}","quote":"\""}}"#)),
    }
}

/// The delay of a task in place of its time, which follows from its id, too.
pub(super) fn delay_ms(id: &str) -> Option<u64> {
    let random = xxhash_rust::xxh3::xxh3_64(id.as_bytes());
    (random >> 15 & 1 == 1).then_some(random % 5_000)
}

/// Whether a waiting task is retrying, which follows from its id, too.
fn is_retrying(id: &str) -> bool {
    xxhash_rust::xxh3::xxh3_64(id.as_bytes()) >> 14 & 1 == 1
}

fn task(ledger: &mut Ledger<Embedded>, route: &str, id: &str, state: &str, now: u64) {
    let (route, id): (Arc<str>, Arc<str>) = (route.into(), id.into());
    let size = 1 + usize::from(xxhash_rust::xxh3::xxh3_64(id.as_bytes()) as u8) * 5;
    let fire_at = if state == "waiting" { now + 5_000 } else { now };
    let order = ScheduleOrder {
        route: route.clone(),
        id: id.clone(),
        named: true,
        at: fire_at,
        fire_at,
        delay_ms: delay_ms(&id),
        compression: Compression::Lz4,
        payload: id.repeat(size / id.len() + 1).into_bytes().into(),
        replace: false,
        headers: headers(&id),
        terms: terms(&id).map(Box::new),
    };
    let Outcome::Scheduled { seq, .. } = ledger.apply(&Op::Schedule(order), now).unwrap() else {
        panic!("{id} is new");
    };
    let revision = TaskRevision {
        route: route.clone(),
        id: id.clone(),
        seq,
        attempt: 1,
    };
    let op = match state {
        "waiting" if !is_retrying(&revision.id) => return,
        "waiting" => Op::Retry {
            revision,
            at: fire_at,
            attempt: 1,
            failures: 1,
            failure: Some(Box::new(LastFailure {
                at: now,
                kind: FailureKind::Nack,
                reason: Some("no disk".into()),
            })),
        },
        "parked" => Op::Park(revision),
        "dead" => Op::Bury {
            revision,
            at: now + 1,
            attempt: 3,
            failures: 2,
            reason: id.ends_with('7').then(|| "a reason".into()),
            failure: None,
        },
        "finished" => Op::Finish(revision),
        _ => Op::Cancel { route, id },
    };
    // In a batch of its own, so that a removal is a row.
    ledger.commit(Durability::Written, now).unwrap();
    assert_ne!(ledger.apply(&op, now).unwrap(), Outcome::Applied(false));
}

/// Schedules a task in a store and returns its sequence number.
pub(super) fn schedule(directory: &Path, id: &str, payload: &[u8]) -> u64 {
    let store = Arc::new(Embedded::open(directory).unwrap());
    let mut ledger = Ledger::open(store, 1_000, Sizes::SMALL).unwrap();
    let order = ScheduleOrder {
        route: "north".into(),
        id: id.into(),
        named: true,
        at: 2_000_000,
        fire_at: 2_000_000,
        delay_ms: None,
        compression: Compression::None,
        payload: payload.into(),
        replace: false,
        headers: Headers::default(),
        terms: None,
    };
    let outcome = ledger.apply(&Op::Schedule(order), 1_000_000).unwrap();
    ledger.commit(Durability::Synced, 1_000_000).unwrap();
    let Outcome::Scheduled { seq, .. } = outcome else {
        panic!("{outcome:?}");
    };
    seq
}

impl TestDirectory {
    /// Creates a store with all tasks in tables, or one half in tables and one in the journal.
    pub(super) fn new(is_all_in_tables: bool) -> Self {
        let directory = in_memory();
        let store = Arc::new(Embedded::open(directory.path()).unwrap());
        let mut ledger = Ledger::open(store.clone(), 1_000, Sizes::SMALL).unwrap();
        write(&mut ledger, "one");
        store.flush_all();
        write(&mut ledger, "two");
        if is_all_in_tables {
            store.flush_all();
        }
        store.sync().unwrap();
        Self(directory)
    }

    /// Makes a store with all tasks in tables and one with this payload in the middle.
    pub(super) fn with_payload(payload: &[u8]) -> Self {
        let directory = in_memory();
        let open = || Arc::new(Embedded::open(directory.path()).unwrap());
        write(
            &mut Ledger::open(open(), 1_000, Sizes::SMALL).unwrap(),
            "one",
        );
        schedule(directory.path(), "payload", payload);
        let store = open();
        write(
            &mut Ledger::open(store.clone(), 1_000, Sizes::SMALL).unwrap(),
            "two",
        );
        store.flush_all();
        drop(store);
        Self(directory)
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn copy(&self) -> Self {
        let copy = in_memory();
        for (name, content) in self.files() {
            let to = copy.path().join(name);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::write(to, content).unwrap();
        }
        Self(copy)
    }

    /// Empties the journals, so that only the tables contain data.
    pub(super) fn without_journals(self) -> Self {
        for journal in self.journals() {
            fs::write(journal, b"").unwrap();
        }
        self
    }

    pub(super) fn journals(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path().join("store")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .filter(|path| path.extension().is_some_and(|extension| extension == "jnl"))
            .collect()
    }

    /// Returns the tables of a space.
    pub(super) fn tables(&self, space: Space) -> Vec<PathBuf> {
        let folder = format!("store/keyspaces/{}/tables", space as usize + 1);
        let entries = fs::read_dir(self.path().join(folder)).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// Returns the content of each file, without the zeros at the end of a journal.
    pub(super) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let mut bytes = fs::read(&path).unwrap();
                    if path.extension().is_some_and(|extension| extension == "jnl") {
                        let end = bytes.iter().rposition(|byte| *byte != 0);
                        bytes.truncate(end.map_or(0, |end| end + 1));
                    }
                    files.insert(path.strip_prefix(self.path()).unwrap().to_owned(), bytes);
                }
            }
        }
        files
    }

    pub(super) fn schedule(&self, id: &str, payload: &[u8]) {
        schedule(self.path(), id, payload);
    }

    pub(super) fn verify(&self) -> Vec<String> {
        verified(self.path())
    }

    pub(super) fn export(&self) -> ExpectedTasks {
        exported(self.path())
    }

    /// Repairs the store, checks the new one, and returns its tasks.
    pub(super) fn repair(&self) -> (RepairSummary, ExpectedTasks) {
        let new = in_memory();
        let to = new.path().join("repaired");
        let repaired = repair(self.path(), &to).unwrap();
        assert_eq!(verified(&to), [""; 0]);
        let tasks = exported(&to);
        assert_consistent(&to);
        (repaired, tasks)
    }
}

/// Asserts that all spaces of a store agree, the index of expiry among them, as for a backup.
#[track_caller]
pub(super) fn assert_consistent(directory: &Path) {
    let store = Embedded::open(directory).unwrap();
    let mut stream = BackupStream::begin(store.snapshot().unwrap(), 1_000_000);
    let mut bytes = Vec::new();
    loop {
        let piece = stream.next(1 << 20).unwrap();
        if piece.is_empty() {
            break;
        }
        bytes.extend(piece);
    }
    backup::check(&*bytes, "it").unwrap();
}

fn verified(directory: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let verified = verify(directory, &mut |line| {
        lines.push(line.to_owned());
        Ok(())
    });
    assert_eq!(verified.unwrap().findings, lines.len() as u64);
    lines
}

fn exported(directory: &Path) -> ExpectedTasks {
    let mut out = Vec::new();
    let exported = export(directory, &mut out).unwrap();
    let lines = String::from_utf8(out).unwrap();
    let tasks: ExpectedTasks = lines
        .lines()
        .map(|line| {
            let mut task: Value = serde_json::from_str(line).unwrap();
            // Lines of tasks without a row in `names` have `replace`.
            task.as_object_mut().unwrap().remove("replace");
            let name = ["route_key", "id"].map(|field| task[field].as_str().unwrap().to_owned());
            (name.into(), task)
        })
        .collect();
    assert_eq!(exported.tasks, tasks.len() as u64);
    tasks
}
