use std::ops::ControlFlow;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::Value;

use super::fixture::{
    EACH, ROUTES, TestDirectory, assert_consistent, delay_ms, headers, schedule, terms,
};
use crate::salvage::{
    SalvageError, export, faults::FileFaults, recovered_task::RecoveredTask, repair,
    repair_writer::RepairWriter, stopped_store::StoppedStore, task_join::TaskJoin, verify,
};
use hyper_delay_fjall::Embedded;
use hyper_delay_protocol::{Compression, Terms};
use hyper_delay_store::{
    Batch, Durability, ReadStore as _, Space, Store as _,
    record::{self, Name, Place, StoredCounts, Task, TaskEntry, key},
};

type StoredRows = Vec<(Vec<u8>, Vec<u8>)>;

fn opened(directory: &TestDirectory, space: Space) -> StoredRows {
    let store = Embedded::open(directory.path()).unwrap();
    let mut rows = StoredRows::new();
    let mut visit = |key: &[u8], value: &[u8]| {
        rows.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    };
    store.scan(space, &[], &mut visit).unwrap();
    rows
}

fn read(directory: &TestDirectory, space: Space) -> StoredRows {
    let mut faults = FileFaults::default();
    let store = StoppedStore::open(directory.path(), &mut faults).unwrap();
    let mut scan = store.scan(space, &mut faults);
    let mut rows = StoredRows::new();
    while let Some(row) = scan.next(&mut faults) {
        rows.push((row.key, row.value));
    }
    assert_eq!(faults.into_lines(), [""; 0]);
    rows
}

#[test]
fn a_stopped_store_has_the_same_rows_as_an_open_one() {
    let half = TestDirectory::new(false);
    let tables = TestDirectory::new(true).without_journals();
    for space in Space::ALL {
        for directory in [&half, &tables] {
            let rows = read(directory, space);
            assert_eq!(rows, opened(&directory.copy(), space), "{space:?}");
            assert!(!rows.is_empty() || space == Space::DoneEven, "{space:?}");
        }
    }
}

#[test]
fn an_undamaged_store_verifies_and_no_tool_changes_it() {
    let directory = TestDirectory::new(false);
    let files = directory.files();
    assert_eq!(directory.verify(), [""; 0]);
    let (repaired, tasks) = directory.repair();
    assert_eq!(tasks, directory.export());
    assert_eq!(
        (repaired.saved, repaired.lost, repaired.nameless),
        ((2 * 3 * EACH * ROUTES.len()) as u64, 0, 0)
    );
    assert_eq!(directory.files(), files);
}

#[test]
fn an_exported_line_has_the_payload_and_the_state() {
    let tasks = TestDirectory::new(false).export();
    for state in ["waiting", "parked", "dead"] {
        let id = format!("{state}-two-005");
        let task = &tasks[&("south".to_owned(), id.clone())];
        assert_eq!(task["kind"], "schedule");
        assert_eq!(task["state"], state);
        assert_eq!(task["compression"], "lz4");
        let payload = BASE64
            .decode(task["payload_base64"].as_str().unwrap())
            .unwrap();
        assert!(payload.starts_with(id.as_bytes()));
    }
}

#[test]
fn terms_headers_and_delays_are_exported_as_they_were_scheduled() {
    let directory = TestDirectory::new(false);
    let (_, repaired) = directory.repair();
    for tasks in [directory.export(), repaired] {
        let mut seen = [0; 7];
        for ((_, id), task) in &tasks {
            let terms = terms(id).unwrap_or_default();
            let headers = headers(id);
            let headers = Some(headers.text()).filter(|text| !text.is_empty());
            let expected: [(&str, Option<Value>); 7] = [
                (
                    "headers",
                    headers.map(|text| serde_json::from_str(text).unwrap()),
                ),
                ("expires_at", terms.expires_at.map(Value::from)),
                ("ack_timeout_ms", terms.ack_timeout_ms.map(Value::from)),
                ("max_attempts", terms.max_attempts.map(Value::from)),
                ("retry_delay_ms", terms.retry_delay_ms.map(Value::from)),
                (
                    "max_retry_delay_ms",
                    terms.max_retry_delay_ms.map(Value::from),
                ),
                ("original_delay_ms", delay_ms(id).map(Value::from)),
            ];
            for (seen, (field, value)) in seen.iter_mut().zip(&expected) {
                assert_eq!(task.get(field), value.as_ref(), "{field} of {id}");
                *seen += usize::from(value.is_some());
            }
        }
        let is_drawn = |seen: usize| (1..tasks.len()).contains(&seen);
        assert!(seen.into_iter().all(is_drawn), "{seen:?}");
    }
}

#[test]
fn a_small_window_joins_the_same_tasks() {
    let directory = TestDirectory::new(false);
    let mut faults = FileFaults::default();
    let store = StoppedStore::open(directory.path(), &mut faults).unwrap();
    let mut parts = |window| {
        let mut join = TaskJoin::with_window(&store, window, &mut faults);
        let mut tasks = Vec::new();
        while let Some(task) = join.next(&mut faults) {
            tasks.push((task.seq, task.state_rows, task.content));
        }
        tasks
    };
    let all = parts(usize::MAX);
    assert_eq!(all.len(), 2 * 3 * EACH * ROUTES.len());
    assert_eq!(parts(7), all);
}

#[test]
fn a_repaired_store_keeps_the_deduplication_window() {
    let directory = TestDirectory::new(true);
    let to = directory.path().join("repaired");
    repair(directory.path(), &to).unwrap();
    for space in [Space::DoneEven, Space::DoneOdd] {
        let old = opened(&directory, space);
        let store = Embedded::open(&to).unwrap();
        for (key, value) in old {
            assert_eq!(&*store.get(space, &key).unwrap().unwrap(), value);
        }
    }
}

#[test]
fn a_repaired_store_counts_the_bytes_of_the_payloads() {
    let directory = TestDirectory::new(false);
    let to = directory.path().join("repaired");
    repair(directory.path(), &to).unwrap();
    let counts = |store: Embedded| {
        let value = store.get(Space::Counts, &key::route("north")).unwrap();
        record::decode::<StoredCounts>(&value.unwrap()).unwrap()
    };
    let before = counts(Embedded::open(directory.path()).unwrap());
    assert_ne!(before.bytes, 0);
    assert_eq!(counts(Embedded::open(&to).unwrap()), before);
}

#[test]
fn missing_and_undecodable_marks_are_reported() {
    let directory = TestDirectory::new(false);
    let store = Embedded::open(directory.path()).unwrap();
    let mut batch = Batch::default();
    batch.remove(Space::Meta, key::NUMBERS);
    batch.put(Space::Meta, key::LOW_WATER, b"no number");
    store.commit(batch, Durability::Synced).unwrap();
    drop(store);
    let findings = directory.verify();
    let [numbers, mark] = &findings[..] else {
        panic!("{findings:?}");
    };
    assert!(numbers.starts_with("space meta: the end of the sequence numbers is missing"));
    assert!(mark.contains("the low-water mark cannot be decoded"));
    let (repaired, tasks) = directory.repair();
    assert_eq!(repaired.saved, tasks.len() as u64);
}

#[test]
fn entries_and_names_with_too_long_routes_are_faults() {
    let directory = TestDirectory::new(false);
    let before = directory.export();
    let store = Embedded::open(directory.path()).unwrap();
    let mut batch = Batch::new();
    for (length, seq) in [(129, 1), (255, 2), (256, 3), (10_000, 4)] {
        let route = "r".repeat(length);
        let entry = record::encode(&TaskEntry {
            route: &route,
            id: "id",
            attempt: 0,
            failures: 0,
            terms: None,
        });
        for space in [Space::Waiting, Space::Parked, Space::Dead] {
            batch.put(space, key::time(1 << 40, seq), entry.clone());
        }
    }
    let names = [&[255][..], &[b'r'; 300]].concat();
    let name = store
        .get(Space::Names, &key::name("north", "dead-one-001"))
        .unwrap();
    batch.put(Space::Names, names, name.unwrap());
    store.commit(batch, Durability::Synced).unwrap();
    drop(store);
    let findings = directory.verify();
    let long = findings
        .iter()
        .filter(|line| line.contains("its route has"));
    assert_eq!(long.count(), 3 * 4, "{findings:#?}");
    let (_, tasks) = directory.repair();
    assert_eq!(tasks, before);
    assert_eq!(directory.export(), before);
}

#[test]
fn a_store_in_use_and_a_missing_store_are_refused() {
    let directory = TestDirectory::new(false);
    let server = Embedded::open(directory.path()).unwrap();
    let in_use = export(directory.path(), &mut Vec::new()).unwrap_err();
    assert!(matches!(in_use, SalvageError::InUse(_)), "{in_use}");
    drop(server);
    let nothing = export(&directory.path().join("nothing"), &mut Vec::new()).unwrap_err();
    assert!(matches!(nothing, SalvageError::NoStore(_)), "{nothing}");
    let exists = repair(directory.path(), directory.path()).unwrap_err();
    assert!(matches!(exists, SalvageError::Exists(_)), "{exists}");
}

#[test]
fn a_repaired_store_does_not_reuse_sequence_numbers() {
    let directory = TestDirectory::new(false);
    let mut faults = FileFaults::default();
    let store = StoppedStore::open(directory.path(), &mut faults).unwrap();
    let mut join = TaskJoin::new(&store, &mut faults);
    let mut last = 0;
    while let Some(task) = join.next(&mut faults) {
        last = task.seq;
    }
    drop(store);
    let to = directory.path().join("repaired");
    repair(directory.path(), &to).unwrap();
    assert!(schedule(&to, "new", b"") > last);
}

/// Writes two revisions of a task with these times of expiry, and returns the exported line.
fn later_of_two(is_named: [bool; 2], expires_at: [Option<u64>; 2]) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("new");
    let mut writer = RepairWriter::new(&to).unwrap();
    for (seq, (is_named, expires_at)) in (1..).zip(is_named.into_iter().zip(expires_at)) {
        let payload = [u8::try_from(seq).unwrap(); 10];
        let terms = expires_at.map(|at| {
            Box::new(Terms {
                expires_at: Some(at),
                ..Terms::default()
            })
        });
        let content = Task {
            fire_at: 1_000 * seq,
            compression: Compression::None,
            payload: &payload,
            terms: terms.clone(),
            headers: "",
            delay_ms: None,
        };
        let task = RecoveredTask {
            route: "north".into(),
            id: "one".into(),
            name: Name {
                seq,
                fire_at: content.fire_at,
                place: Place::Waiting(content.fire_at),
                attempt: 0,
                failures: 0,
                digest: content.digest(),
                bytes: payload.len() as u64,
                terms,
                failure: None,
            },
            reason: None,
            content: record::encode(&content).to_vec(),
            is_named,
        };
        assert_eq!(writer.write_task(&task).unwrap(), seq == 2);
    }
    writer.finish(1).unwrap();
    let verified = verify(&to, &mut |line| panic!("{line}")).unwrap();
    assert_eq!(verified.tasks, 1);
    assert_consistent(&to);
    let mut line = Vec::new();
    export(&to, &mut line).unwrap();
    serde_json::from_slice(&line).unwrap()
}

#[test]
fn the_later_of_two_revisions_is_written() {
    for is_named in [[false, true], [true, false], [false, false]] {
        for expires_at in [
            [None, Some(6_000)],
            [Some(5_000), None],
            [Some(5_000), Some(6_000)],
        ] {
            let line = later_of_two(is_named, expires_at);
            assert_eq!(line["fire_at"], 2_000);
            assert_eq!(
                line.get("expires_at").and_then(Value::as_u64),
                expires_at[1]
            );
        }
    }
}
