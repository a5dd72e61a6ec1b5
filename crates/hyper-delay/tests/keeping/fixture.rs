//! The store and the backup of release 0.3 in `tests/fixtures/0.3`, which every later release must
//! open. A test in `single_node/tests/fixture.rs` of the server's crate writes them; see `tests/fixtures/README.md`.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::process::{exported, run, start, stop};

/// The length of a journal in use. The fixture has its journals without the zeros at their end.
const JOURNAL: u64 = 64 << 20;

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/0.3")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let from = entry.unwrap().path();
        let to = to.join(from.file_name().unwrap());
        if from.is_dir() {
            copy(&from, &to);
            continue;
        }
        fs::copy(&from, &to).unwrap();
        if to.extension().is_some_and(|it| it == "jnl") {
            let journal = File::options().write(true).open(&to).unwrap();
            journal.set_len(JOURNAL).unwrap();
        }
    }
}

fn is_as_expected(path: &Path, data: &str) {
    let expected = fs::read_to_string(fixture().join("export.jsonl")).unwrap();
    let expected: Vec<Value> = expected
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let tasks = exported(path, data);
    assert_eq!(tasks.len(), expected.len());
    for task in &expected {
        assert_eq!(&tasks[task["id"].as_str().unwrap()], task);
    }
    let server = start(path, data).run();
    let mut peer = server.peer();
    for (route, state) in [
        ("waiting", "waiting"),
        ("replaced", "waiting"),
        ("parked", "parked"),
        ("dead", "dead"),
    ] {
        let stats = peer.stats(route);
        assert_eq!(stats[state], 2, "{stats}");
    }
    let terms = peer.ask(r#"{"kind":"get","route_key":"terms","id":"terms-1","payload":true}"#);
    let expected = expected.iter().find(|task| task["id"] == "terms-1");
    let expected = expected.expect("a task with terms");
    for field in [
        "headers",
        "expires_at",
        "ack_timeout_ms",
        "max_attempts",
        "retry_delay_ms",
        "max_retry_delay_ms",
    ] {
        assert!(!terms[field].is_null(), "{terms}");
        assert_eq!(terms[field], expected[field], "{field}");
    }
    assert_eq!(peer.stats("waiting")["paused"], true);
    let jobs = peer.ask(r#"{"kind":"jobs"}"#);
    assert_eq!(jobs["jobs"][0]["route_key"], "purged", "{jobs}");
    let audit = peer.ask(r#"{"kind":"audit"}"#);
    assert!(
        audit["lines"]
            .as_array()
            .is_some_and(|lines| lines.len() >= 5),
        "{audit}"
    );
    let dead = peer.ask(r#"{"kind":"dead","route_key":"dead"}"#);
    assert_eq!(dead["tasks"][0]["reason"], "no disk", "{dead}");
    assert_eq!(dead["tasks"][0]["id"], "dead-1", "{dead}");
    assert_eq!(dead["tasks"][0]["attempt"], 1, "{dead}");
    peer.register("parked");
    assert_eq!(peer.delivery()["id"], "parked-1");
    // It was in flight when the server was killed, so it is delivered again.
    peer.register("flight");
    let again = peer.find(|line| line["route_key"] == "flight");
    assert_eq!(again["id"], "flight-1", "{again}");
    assert!(peer.removes(&again));
    let kicked = peer.ask(r#"{"kind":"kick","id":"dead-1","route_key":"dead"}"#);
    assert_eq!(kicked["found"], true);
    stop(server);
    run(path, &["verify", data]).done();
}

#[test]
fn the_store_of_the_release_opens_with_every_state() {
    let directory = tempfile::tempdir().unwrap();
    copy(&fixture().join("data"), &directory.path().join("data"));
    run(directory.path(), &["verify", "data"]).done();
    is_as_expected(directory.path(), "data");
}

#[test]
fn the_backup_of_the_release_is_restored_with_every_state() {
    let directory = tempfile::tempdir().unwrap();
    let backup = fixture().join("tasks.backup");
    let backup = backup.to_str().unwrap();
    run(directory.path(), &["restore", backup, "--to", "data"]).done();
    is_as_expected(directory.path(), "data");
}
