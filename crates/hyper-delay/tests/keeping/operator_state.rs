//! Pauses and the audit in backups.

use std::fs;

use testkit::request::all;

use crate::process::{back_up, run, start, stop};

#[test]
fn a_restored_server_keeps_pauses_and_the_audit() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let server = start(path, "data").run();
    let mut peer = server.peer();
    peer.ask(r#"{"kind":"pause","route_key":"a"}"#);
    peer.due("a", "x");
    let backup = back_up(path, &server);
    stop(server);
    fs::rename(&backup, path.join("backup")).unwrap();
    run(path, &["restore", "backup", "--to", "new"]).done();
    let said = run(path, &["verify", "new"]).done();
    assert!(said.starts_with("all is well"), "{said}");
    let server = start(path, "new").run();
    let mut peer = server.consumer("a");
    let stats = peer.stats_until("a", |stats| stats["parked"] == 1);
    assert_eq!(stats["paused"], true);
    peer.quiet();
    let audit = peer.ask(r#"{"kind":"audit"}"#);
    let lines = audit["lines"].as_array().unwrap();
    assert_eq!(all(lines, "act"), ["pause"]);
    peer.ask(r#"{"kind":"resume","route_key":"a"}"#);
    assert_eq!(peer.delivery()["id"], "x");
}
