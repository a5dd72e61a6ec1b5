//! The commands that look inside a server and change many tasks.

use serde_json::{Value, json};
use testkit::{
    Peer,
    request::{echo, later},
};

use crate::process::Server;

fn peer(server: &Server) -> Peer {
    Peer::connect(server.address.parse().unwrap())
}

/// Makes dead letters of route `a`.
fn bury(server: &Server, ids: &[&str]) {
    let mut peer = peer(server);
    let before = peer.stats("a")["dead"].as_u64().unwrap_or_default();
    peer.register("a");
    for (count, id) in (1..).zip(ids) {
        peer.due("a", id);
        let delivery = peer.delivery();
        peer.send(echo("nack", &delivery));
        peer.stats_until("a", |stats| stats["dead"] == before + count);
    }
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn get_and_list_print_tasks_and_their_payloads() {
    let server = Server::start(json!({}));
    for (id, payload) in [("one", "hello"), ("two", "wörld")] {
        server
            .run(&[
                "schedule", payload, "--route", "a", "--id", id, "--in", "1h",
            ])
            .done();
    }
    let shown = server.run(&["get", "a", "one", "--payload"]).done();
    assert!(shown.starts_with("one on a waits until 2"), "{shown}");
    assert!(shown.ends_with("\n  hello\n"), "{shown}");
    let shown = server.run(&["get", "a", "one", "--json"]).done();
    let task = &json_lines(&shown)[0];
    assert_eq!(
        (&task["state"], &task["id"]),
        (&json!("waiting"), &json!("one"))
    );
    let failed = server.run(&["get", "a", "three"]).failed(1);
    assert!(
        failed.contains("route \"a\" has no task \"three\""),
        "{failed}"
    );

    let listed = server.run(&["list", "--payload"]).done();
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!((lines.len(), lines[1], lines[3]), (4, "  hello", "  wörld"));
    let listed = server.run(&["list", "a", "--json", "--limit", "1"]).done();
    assert_eq!(json_lines(&listed).len(), 1);
    assert_eq!(server.run(&["list", "b"]).done(), "");
    assert_eq!(server.run(&["list", "--state", "dead"]).done(), "");
    assert_eq!(
        server
            .run(&["list", "--until", "2020-01-01T00:00:00Z"])
            .done(),
        ""
    );
}

#[test]
fn what_clients_chose_forges_no_row_and_commands_no_terminal() {
    let server = Server::start(json!({}));
    let hostile = "a\u{1b}[2J\nforged 9 9\r\u{9b}1m\u{202e}b";
    let mut peer = peer(&server);
    let task = json!({"kind": "schedule", "route_key": hostile, "id": hostile, "fire_at": later(),
        "payload_base64": ""});
    assert_eq!(peer.ask(&task.to_string())["kind"], "ack");
    peer.ask(&json!({"kind": "pause", "route_key": hostile}).to_string());
    for (line, rows) in [
        (&["stats"][..], 3),
        (&["stats", "--json"], 1),
        (&["list"], 1),
        (&["list", "--json"], 1),
        (&["get", hostile, hostile], 1),
        (&["audit"], 1),
        (&["audit", "--json"], 1),
        (&["pause", hostile], 1),
        (&["cancel", hostile, hostile], 1),
        (&["cancel", hostile, hostile], 0),
    ] {
        let ended = server.run(line);
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.stdout.lines().count(), rows, "{line:?}: {said:?}");
        let is_plain = |letter: char| letter == '\n' || letter.is_ascii() && !letter.is_control();
        assert!(said.chars().all(is_plain), "{line:?}: {said:?}");
        assert!(said.contains("forged 9 9"), "{line:?}: {said:?}");
    }
}

#[test]
fn the_future_is_printed_without_empty_spans() {
    let server = Server::start(json!({}));
    let mut peer = peer(&server);
    peer.plan("a", "x", later() + 86_400_000);
    let printed = loop {
        let printed = server.run(&["future"]).done();
        if !printed.contains("the server is counting") {
            break printed;
        }
    };
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), 2, "{printed}");
    assert!(
        lines[0].starts_with("hour of 2") && lines[0].ends_with(": 1"),
        "{printed}"
    );
    assert!(
        lines[1].starts_with("day of 2") && lines[1].ends_with(": 1"),
        "{printed}"
    );
    let counts = &json_lines(&server.run(&["future", "--json"]).done())[0];
    assert_eq!(counts["days"].as_array().map(Vec::len), Some(365));
}

#[test]
fn moves_and_removals_of_one_task_leave_no_line_in_the_audit() {
    let server = Server::start(json!({}));
    peer(&server).plan("a", "1", later());
    server.run(&["reschedule", "a", "1", "2h"]).done();
    server.run(&["run-now", "a", "1"]).done();
    server.run(&["cancel", "a", "1"]).done();
    let audit = server.run(&["audit"]);
    assert_eq!(audit.stderr, "no operator has changed anything\n");
}

#[test]
fn dead_letters_are_selected_deleted_and_kicked() {
    let server = Server::start(json!({"max_attempts": 1}));
    bury(&server, &["one", "two", "three"]);
    assert_eq!(server.run(&["dead", "a", "--reason", "other"]).done(), "");
    let shown = server
        .run(&["dead", "a", "--reason", "", "--payload", "--json"])
        .done();
    assert_eq!(json_lines(&shown).len(), 3);
    assert_eq!(json_lines(&shown)[0]["payload_base64"], "");
    let deleted = server.run(&["dead", "a", "--delete", "one"]).done();
    assert_eq!(deleted, "one on a is removed\n");
    let failed = server.run(&["dead", "a", "--delete", "one"]).failed(1);
    assert!(failed.contains("has no dead letter \"one\""), "{failed}");

    let failed = server.run(&["dead", "a", "--delete-all"]).failed(1);
    assert!(
        failed.contains("remove 2 tasks? standard input is no terminal to ask on: give --yes"),
        "{failed}"
    );
    let none = ["dead", "a", "--delete-all", "--reason", "other", "--yes"];
    assert_eq!(server.run(&none).done(), "0 tasks match\n");
    let all = ["dead", "a", "--delete-all", "--reason", "", "--yes"];
    assert_eq!(server.run(&all).done(), "removed: 2\n");
    bury(&server, &["four"]);
    for moved in [
        &["run-now", "a", "four"][..],
        &["reschedule", "a", "four", "1h"],
    ] {
        let failed = server.run(moved).failed(1);
        let cure = "task \"four\" of route \"a\" is dead, so it is not moved: `hyper-delay dead a \
                    --kick=four` makes it due now";
        assert!(failed.contains(cure), "{failed}");
    }
    bury(&server, &["-it's five"]);
    let run_now = ["run-now", "--", "a", "-it's five"];
    let failed = server.run(&run_now).failed(1);
    let cure = r"`hyper-delay dead a --kick='-it'\''s five'` makes it due now";
    assert!(failed.contains(cure), "{failed}");
    let kicked = server.run(&["dead", "a", "--kick=-it's five"]).done();
    assert_eq!(kicked, "-it's five on a is due now\n");
    server.run(&["cancel", "--", "a", "-it's five"]).done();
    let failed = server.run(&["dead", "a", "--kick=-it's five"]).failed(1);
    assert!(
        failed.ends_with("list them with `hyper-delay dead a`\n"),
        "{failed}"
    );
    let kicked = server.run(&["dead", "a", "--kick-all"]).done();
    assert_eq!(kicked, "due now: 1\n");
    let audit = server.run(&["audit"]).done();
    let deleted = audit.lines().find(|line| line.contains("delete_all"));
    assert!(
        deleted.is_some_and(|line| line.contains(", reason \"\", until 2")),
        "{audit}"
    );
    assert_eq!(server.run(&["dead", "a"]).done(), "");
    peer(&server).stats_until("a", |stats| stats["parked"] == 1);
}

#[test]
fn many_tasks_are_moved_by_command() {
    let server = Server::start(json!({}));
    let mut peer = peer(&server);
    let at = later();
    for id in ["1", "2"] {
        peer.plan("a", id, at);
    }
    let counted = server.run(&["run-now", "a", "--all", "--dry-run"]).done();
    assert_eq!(counted, "2 tasks match\n");
    let retrying = [
        "run-now", "a", "--all", "--state", "retrying", "--reason", "x",
    ];
    assert_eq!(server.run(&retrying).done(), "0 tasks match\n");
    let failed = server
        .run(&["reschedule", "a", "--all", "--later", "5s"])
        .failed(1);
    assert!(failed.contains("reschedule 2 tasks?"), "{failed}");
    let until = at.to_string();
    let early = [
        "reschedule",
        "a",
        "--all",
        "--later",
        "5s",
        "--until",
        &until,
    ];
    assert_eq!(server.run(&early).done(), "0 tasks match\n");
    for (option, value) in [("--later", "5s"), ("--to", "2030-01-31T08:00:00Z")] {
        let moved = ["reschedule", "a", "--all", option, value, "--yes"];
        assert_eq!(server.run(&moved).done(), "rescheduled: 2\n");
    }
    let listed = json_lines(&server.run(&["list", "a", "--json"]).done());
    assert_eq!(listed[0]["due"], 1_896_076_800_000_u64);
    assert_eq!(
        server.run(&["run-now", "a", "--all"]).done(),
        "due now: 2\n"
    );
    let jobs = server.run(&["jobs"]).done();
    for act in [
        ": run_now_all of a is done, tasks changed: 2; begun at 2",
        ", later by 5s from 127.0.0.1:",
        ", to 2030-01-31T08:00:00.000Z from 127.0.0.1:",
    ] {
        assert!(jobs.contains(act), "{jobs}");
    }
    let audit = server.run(&["audit"]).done();
    assert!(
        audit.contains(" tasks changed: 2, later by 5s\n"),
        "{audit}"
    );
    let logged = server.logs("audit: an operator's request act=\"reschedule_all\" route=\"a\"");
    assert!(logged.contains(" shift_ms=5000"), "{logged}");
    for wrong in [
        &["run-now", "a"][..],
        &["run-now", "a", "1", "--all"],
        &["run-now", "a", "1", "--state", "retrying"],
        &["reschedule", "a", "1"],
        &["reschedule", "a", "--all"],
        &["reschedule", "a", "1", "5s", "--all"],
        &["reschedule", "a", "--all", "--to", "5s", "--later", "5s"],
        &["reschedule", "a", "1", "--later", "5s"],
    ] {
        server.run(wrong).failed(2);
    }
}

#[test]
fn a_route_is_purged_paused_and_resumed_and_the_audit_tells() {
    let server = Server::start(json!({}));
    assert_eq!(server.run(&["pause", "a"]).done(), "a is paused\n");
    assert_eq!(server.run(&["pause", "a"]).done(), "a was paused already\n");
    let mut peer = peer(&server);
    for id in ["1", "2"] {
        peer.due("a", id);
    }
    peer.register("a");
    peer.stats_until("a", |stats| stats["parked"] == 2);
    assert!(server.run(&["stats"]).done().ends_with("  paused\n"));
    let failed = server.run(&["purge", "a"]).failed(1);
    assert!(failed.contains("remove 2 tasks?"), "{failed}");
    assert_eq!(server.run(&["purge", "a", "--yes"]).done(), "removed: 2\n");
    assert_eq!(
        server.run(&["purge", "a", "--yes"]).done(),
        "0 tasks match\n"
    );
    assert_eq!(server.run(&["resume", "a"]).done(), "a is resumed\n");
    assert_eq!(server.run(&["resume", "a"]).done(), "a was not paused\n");
    peer.quiet();

    let jobs = server.run(&["jobs"]).done();
    assert!(
        jobs.contains(": purge of a is done, tasks changed: 2; begun at 2"),
        "{jobs}"
    );
    let failed = server.run(&["jobs", "--stop", "77"]).failed(1);
    assert!(failed.contains("job 77 is not running"), "{failed}");
    let acts: Vec<Value> = json_lines(&server.run(&["audit", "--json"]).done())
        .into_iter()
        .map(|line| line["act"].clone())
        .collect();
    assert_eq!(acts, ["resume", "done", "purge", "pause"]);
    let printed = server.run(&["audit", "--limit", "1"]).done();
    assert!(printed.contains(" resume a from 127.0.0.1:"), "{printed}");
    for act in ["pause", "resume", "purge"] {
        server.logs(&format!(
            "audit: an operator's request act=\"{act}\" route=\"a\""
        ));
    }
    let begun = server.logs("audit: an operator's request act=\"purge\"");
    assert!(begun.contains(" in_flight=false"), "{begun}");
    let ended = server.logs("audit: a bulk operation has ended act=\"done\" route=\"a\"");
    assert!(ended.contains(" tasks=2 in_flight=false"), "{ended}");
}
