//! `hyper-delay cluster` against a real etcd.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod links;

use std::{
    fs,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Ended, Etcd, loopback, process, server};

const PROGRAM: &str = env!("CARGO_BIN_EXE_hyper-delay");

/// A working directory with the configuration of a node.
struct Node(TempDir);

impl Node {
    fn new(name: &str, advertise: &str, url: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let cluster = json!({"etcd": [url], "node": name, "advertise": advertise});
        let config = json!({"cluster": cluster}).to_string();
        fs::write(directory.path().join("node.json"), config).unwrap();
        Self(directory)
    }

    /// Runs `hyper-delay cluster` with the configuration.
    fn run(&self, line: &[&str]) -> Ended {
        self.program(&[&["cluster"], line, &["--config", "node.json"]].concat())
    }

    /// Runs the binary.
    fn program(&self, line: &[&str]) -> Ended {
        let mut command = Command::new(PROGRAM);
        server::alone(&mut command, self.0.path());
        command
            .args(line)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        process::run(&mut command, b"")
    }
}

#[test]
fn nodes_join_are_shown_and_are_removed() {
    if !Etcd::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let etcd = Etcd::start(folder.path(), 1, &[], "http");
    let url = &*etcd.urls()[0];
    let a = Node::new("a", "127.0.0.1:7102", url);
    let b = Node::new("b", "127.0.0.1:7202", url);

    let error = a.run(&["status"]).failed(1);
    assert_eq!(
        error,
        "error: etcd has no cluster: make one with `hyper-delay cluster join`; if there was one, keep \
         every data_dir, and read \"etcd is lost\" in docs/cluster.md first\n"
    );
    let joined = a.run(&["join", "--shards", "3"]);
    let hint = "no other node takes over if this one dies: join another one\n";
    assert_eq!(joined.stderr, hint);
    let joined = joined.done();
    let lines: Vec<&str> = joined.lines().collect();
    let id = lines[0].strip_prefix("made cluster ").unwrap();
    let id = id.strip_suffix(" with 3 shards").unwrap();
    assert_eq!(
        lines[1..],
        ["node a at 127.0.0.1:7102 is a member (1 of 1)"]
    );

    let again = a.run(&["join"]).done();
    let known = format!("cluster {id} has 3 shards");
    assert_eq!(again.lines().next(), Some(&*known));
    let error = b.run(&["join", "--shards", "4"]).failed(1);
    assert!(
        error.starts_with("error: the cluster has 3 shards"),
        "{error}"
    );
    let joined = b.run(&["join"]).done();
    let line = "node b at 127.0.0.1:7202 is a member (2 of 2)";
    assert_eq!(joined, format!("{known}\n{line}\n"));
    let moved = Node::new("b", "127.0.0.1:7302", url);
    let joined = moved.run(&["join"]).done();
    let line = "node b at 127.0.0.1:7302 is a member (2 of 2); its address was 127.0.0.1:7202";
    assert_eq!(joined, format!("{known}\n{line}\n"));

    let status = a.run(&["status"]);
    assert!(
        status.stdout.starts_with(&format!("cluster {id}\n")),
        "{status:?}"
    );
    let row = "b     127.0.0.1:7302  not running      0";
    assert!(status.stdout.lines().any(|line| line == row), "{status:?}");
    let error = status.failed(1);
    assert!(
        error.starts_with("error: node a does not run: start it, or"),
        "{error}"
    );
    assert!(
        error.contains("no living leader for shard 0, 1, 2: "),
        "{error}"
    );
    let status = a.run(&["status", "--json"]);
    assert_eq!(status.code, Some(1));
    let shown: Value = serde_json::from_str(&status.stdout).unwrap();
    assert_eq!(shown["cluster"], *id);
    assert_eq!(shown["nodes"][1]["state"], "left");
    assert_eq!(shown["shards"][2]["last"], 0);
    assert_eq!(shown["problems"].as_array().unwrap().len(), 3);

    let removed = a.run(&["remove", "b"]).done();
    assert_eq!(removed, "node b is no member any more; members left: 1\n");
    let error = a.run(&["remove", "b"]).failed(1);
    assert_eq!(
        error,
        "error: node \"b\" is no member; the members are: a\n"
    );
    let error = a.run(&["remove", "a", "--force"]).failed(1);
    assert!(
        error.starts_with("error: node a is the only member"),
        "{error}"
    );
}

#[test]
fn tasks_of_a_stopped_server_are_imported() {
    if !Etcd::is_installed() {
        return;
    }
    const TASKS: usize = 300;

    let folder = tempfile::tempdir().unwrap();
    let etcd = Etcd::start(folder.path(), 1, &[], "http");
    let url = &*etcd.urls()[0];
    let a = Node::new("a", "127.0.0.1:7102", url);
    let b = Node::new("b", "127.0.0.1:7202", url);
    let lines = (0..TASKS).map(|number| {
        let route = number % 20;
        format!(
            r#"{{"kind":"schedule","id":"{number}","route_key":"route-{route}","fire_at":1,"payload":"x"}}"#
        ) + "\n"
    });
    let lines: String = lines.collect();
    let fewer = lines.split_once('\n').unwrap().1;
    for (node, lines) in [(&a, &*lines), (&b, fewer)] {
        fs::write(node.0.path().join("tasks.jsonl"), lines).unwrap();
        node.program(&["import", "tasks.jsonl", "--to", "single"])
            .done();
    }
    let import = ["import", "--from", "single"];

    let error = a.run(&import).failed(1);
    assert!(error.starts_with("error: etcd has no cluster: "), "{error}");
    a.run(&["join", "--shards", "3"]).done();
    b.run(&["join"]).done();
    let error = a.run(&["import", "--from", "nowhere"]).failed(1);
    assert!(error.contains("nowhere is no folder"), "{error}");

    let imported = a.run(&import).done();
    let wanted = format!(
        "imported {TASKS} tasks ({TASKS} waiting, 0 parked, 0 dead), 0 finished names, into 3 \
         shards in data/db\n"
    );
    assert_eq!(imported, wanted);
    let mut tasks = 0;
    for shard in 0..3 {
        let folder = format!("data/db/shards/{shard}");
        let verified = a.program(&["verify", &folder]).done();
        let verified = verified.trim().strip_prefix("all is well: ").unwrap();
        let count = verified.strip_suffix(" tasks").unwrap();
        tasks += count.parse::<usize>().unwrap();
    }
    assert_eq!(tasks, TASKS);
    a.program(&["verify", "single"]).done();

    // Node a has all of the journals, which begin after what an empty store has.
    let status = a.run(&["status", "--json"]);
    let shown: Value = serde_json::from_str(&status.stdout).unwrap();
    for shard in shown["shards"].as_array().unwrap() {
        assert_eq!(
            (&shard["first"], &shard["last"]),
            (&json!(2), &json!(2)),
            "{shard}"
        );
        assert_eq!(shard["synced"], json!({"a": 2}));
    }
    let notes = shown["notes"].as_array().unwrap();
    assert_eq!(notes.len(), 1);
    let note = notes[0].as_str().unwrap();
    assert!(
        note.starts_with("node b lacks entries of shard 0, 1, 2"),
        "{note}"
    );
    let error = a.run(&["remove", "a"]).failed(1);
    assert!(error.contains("no other member has synced"), "{error}");

    // What is refused changes nothing: node b starts as if it had not been tried.
    let error = b.run(&import).failed(1);
    assert!(error.contains("or was imported into: tasks"), "{error}");
    assert!(!b.0.path().join("data/db/restore.unfinished").exists());
    let shown_again = a.run(&["status", "--json"]).stdout;
    assert_eq!(serde_json::from_str::<Value>(&shown_again).unwrap(), shown);
    let shard = a.0.path().join("data/db/shards/0");
    let error = b.run(&["import", "--from", shard.to_str().unwrap()]);
    let error = error.failed(1);
    assert!(error.contains("the store of one shard"), "{error}");
    let error = a.run(&import).failed(1);
    assert!(
        error.contains("data/db is not empty, it has shards"),
        "{error}"
    );
}

#[test]
fn silent_etcd_is_named_with_the_cure() {
    let url = format!("http://{}", loopback());
    let node = Node::new("a", "127.0.0.1:7102", &url);
    for line in [&["join"][..], &["status"], &["remove", "b"]] {
        let error = node.run(line).failed(1);
        assert!(
            error.starts_with(&format!("error: etcd at {url}: ")),
            "{error}"
        );
        assert!(
            error.contains("check that etcd runs and has a quorum"),
            "{error}"
        );
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn configuration_without_a_cluster_is_named() {
    let node = Node::new("a", "127.0.0.1:7102", "http://127.0.0.1:1");
    fs::write(node.0.path().join("node.json"), "{}").unwrap();
    let error = node.run(&["status"]).failed(1);
    assert!(
        error.starts_with("error: node.json: cluster is null: set etcd"),
        "{error}"
    );
}

#[test]
fn every_help_has_an_example_and_fits_100_columns() {
    let directory = tempfile::tempdir().unwrap();
    for line in [
        &["cluster"][..],
        &["cluster", "join"],
        &["cluster", "remove"],
        &["cluster", "status"],
        &["cluster", "import"],
    ] {
        let mut command = Command::new(PROGRAM);
        server::alone(&mut command, directory.path());
        command
            .args(line)
            .arg("--help")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let help = process::run(&mut command, b"").done();
        let name = format!("hyper-delay {}", line.join(" "));
        assert!(help.contains("Example") && help.contains(&name), "{help}");
        assert!(
            help.lines().all(|line| line.chars().count() <= 100),
            "{help}"
        );
    }
}
