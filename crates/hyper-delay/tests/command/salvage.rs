//! `verify`, `repair` and `export` on the store of a server that has run.

use std::{fs, path::Path};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Server, Start, process, request::echo, request::later};

use crate::process::program;

fn start(directory: &Path, data: &str) -> Server {
    Start::new(env!("CARGO_BIN_EXE_hyper-delay"), directory)
        .config(json!({"data_dir": data, "max_attempts": 1}))
        .run()
}

fn stop(server: Server) {
    server.signal("TERM");
    let (status, log) = server.ended();
    assert!(status.success(), "{log}");
}

/// The data of a stopped server that has a dead, a parked and a waiting task on route `a`.
fn stopped() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), "old");
    let mut peer = server.consumer("a");
    peer.due("a", "dead");
    let nack = echo("nack", &peer.delivery());
    peer.send(nack);
    peer.ask(r#"{"kind":"unregister","route_key":"a"}"#);
    peer.due("a", "parked");
    let at = later();
    peer.ask(&format!(
        r#"{{"kind":"schedule","id":"waiting","route_key":"a","fire_at":{at},"payload_base64":"aGVsbG8="}}"#
    ));
    stop(server);
    directory
}

fn lines(text: &str) -> Vec<Value> {
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

fn states(exported: &str) -> Vec<(String, String)> {
    let field = |line: &Value, name: &str| line[name].as_str().unwrap().to_owned();
    let mut states: Vec<_> = lines(exported)
        .iter()
        .map(|line| (field(line, "id"), field(line, "state")))
        .collect();
    states.sort();
    states
}

#[track_caller]
fn run(directory: &TempDir, line: &[&str]) -> process::Ended {
    process::run(&mut program(directory.path(), line), b"")
}

#[test]
fn a_repaired_store_has_the_tasks_of_a_whole_one_and_serves_them() {
    let directory = stopped();
    let whole = run(&directory, &["verify", "old"]).done();
    assert_eq!(whole, "all is well: 3 tasks\n");
    let exported = run(&directory, &["export", "old"]).done();
    let expected = ["dead", "parked", "waiting"].map(|it| (it.to_owned(), it.to_owned()));
    assert_eq!(states(&exported), expected);

    let said = run(&directory, &["repair", "old", "--to", "new"]).done();
    assert!(said.starts_with("saved 3, lost 0, "), "{said}");
    assert_eq!(
        fs::read_to_string(directory.path().join("new/lost.jsonl")).unwrap(),
        ""
    );
    assert_eq!(run(&directory, &["verify", "new"]).done(), whole);
    assert_eq!(run(&directory, &["export", "new"]).done(), exported);

    let server = start(directory.path(), "new");
    let mut peer = server.peer();
    let stats = peer.all_stats();
    assert_eq!(
        ["waiting", "parked", "dead"].map(|state| stats[state].as_u64()),
        [Some(1); 3]
    );
    let mut peer = server.consumer("a");
    assert_eq!(peer.delivery()["id"], "parked");
    stop(server);
}

#[test]
fn a_server_accepts_exported_lines() {
    let directory = stopped();
    let exported = run(&directory, &["export", "old"]).done();
    let server = start(directory.path(), "other");
    let mut peer = server.peer();
    for line in exported.lines() {
        let reply = peer.ask(line);
        assert_eq!(reply["kind"], "ack", "{reply}");
    }
    let mut peer = server.consumer("a");
    let mut ids =
        [peer.delivery(), peer.delivery()].map(|it| it["id"].as_str().unwrap().to_owned());
    ids.sort();
    assert_eq!(ids, ["dead", "parked"]);
    stop(server);
}

#[test]
fn damage_in_a_journal_is_named_and_the_rest_is_saved() {
    let directory = stopped();
    let journal = directory.path().join("old/store/0.jnl");
    let mut bytes = fs::read(&journal).unwrap();
    let at = bytes
        .windows(5)
        .position(|bytes| bytes == b"hello")
        .unwrap();
    bytes[at] ^= 1;
    fs::write(&journal, &bytes).unwrap();

    let found = run(&directory, &["verify", "old"]);
    assert!(found.stdout.contains("0.jnl: bytes "), "{found:?}");
    let error = found.failed(1);
    assert!(error.contains("hyper-delay repair"), "{error}");
    let repaired = run(&directory, &["repair", "old", "--to", "new"]);
    let said = &repaired.stdout;
    assert!(
        said.starts_with("saved 2, lost 0 and up to 1 of commits that cannot be read, "),
        "{said}"
    );
    let error = repaired.failed(3);
    assert!(
        error.contains("commits cannot be read (commits: 1, schedules: 1, removals: 0)"),
        "{error}"
    );
    let list = fs::read_to_string(directory.path().join("new/lost.jsonl")).unwrap();
    assert!(list.contains(r#"{"missing":"space "#), "{list}");
    let exported = run(&directory, &["export", "new"]).done();
    // The damaged batch can also be the one that parks a task: that one waits again.
    let ids: Vec<_> = states(&exported).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["dead", "parked"]);
}

#[test]
fn the_store_of_a_running_server_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), "old");
    for line in [
        ["verify", "old"].as_slice(),
        &["export", "old"],
        &["repair", "old", "--to", "new"],
    ] {
        let error = run(&directory, line).failed(1);
        assert_eq!(error, "error: old is in use by a server: stop it first\n");
    }
    stop(server);
    let error = run(&directory, &["verify", "new"]).failed(1);
    assert!(
        error.starts_with("error: new contains no store: "),
        "{error}"
    );
    let error = run(&directory, &["repair", "old", "--to", "old"]).failed(1);
    assert!(error.starts_with("error: old exists already: "), "{error}");
}

#[test]
fn commits_that_cannot_be_read_are_counted_by_every_tool() {
    let directory = stopped();
    let store = directory.path().join("old/store");
    fs::remove_file(store.join("0.jnl")).unwrap();
    let verified = run(&directory, &["verify", "old"]);
    let repaired = run(&directory, &["repair", "old", "--to", "new"]);
    let exported = run(&directory, &["export", "old"]);
    let lost = "0 and up to 3 of commits that cannot be read";
    let said = [&repaired.stdout, &repaired.stderr, &exported.stderr];
    assert!(said.iter().all(|text| text.contains(lost)), "{said:?}");
    let outputs = [
        verified.stdout.clone(),
        repaired.stderr.clone(),
        exported.stderr.clone(),
        fs::read_to_string(directory.path().join("new/lost.jsonl")).unwrap(),
    ];
    // The server commits requests together that come at the same time.
    let count = (1..100).find(|count| outputs[0].contains(&format!("(commits: {count},")));
    let what = format!(
        "the last acknowledged commits cannot be read (commits: {}, schedules: 3,",
        count.unwrap()
    );
    for output in outputs {
        assert!(output.contains(&what), "{output}");
    }
    verified.failed(1);
    repaired.failed(3);
    exported.failed(3);
    run(&directory, &["verify", "new"]).done();
}

#[test]
fn a_damaged_slot_of_the_record_is_a_note() {
    let directory = stopped();
    let commits = directory.path().join("old/commits");
    let mut bytes = fs::read(&commits).unwrap();
    bytes[20] ^= 1;
    fs::write(&commits, &bytes).unwrap();
    let verified = run(&directory, &["verify", "old"]);
    assert!(
        verified.stderr.contains("one of the two slots"),
        "{verified:?}"
    );
    assert!(verified.done().starts_with("all is well: "));
}
