//! The commit record reaches the disk: soon after a commit, and before a space is cleared.

use std::{
    collections::BTreeSet,
    fs, thread,
    time::{Duration, Instant},
};

use serde_json::json;
use testkit::{PATIENCE, Wire, request::now};

use crate::{
    acks, deliver_all, schedule, strace,
    trace::{self, Call},
};

fn is_record(call: &Call) -> bool {
    call.arguments.contains("/data/commits>")
}

fn is_journal(call: &Call) -> bool {
    call.is_on(".jnl")
}

/// Starts a server with a new store and schedules a task. Passes the calls on the server's data to
/// `is_done` until that returns true: all of them, and those since the server listens.
fn first_task(sync: &str, is_done: impl Fn(&[Call], &[Call]) -> bool) {
    if !strace::is_there() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace");
    let traced = "trace=write,pwrite64,writev,fsync,fdatasync";
    let tracer = ["-yy", "-ttt", "-e", traced, "-o", file.to_str().unwrap()];
    let server = crate::start(directory.path())
        .config(json!({"sync": sync}))
        .under(strace::line(&tracer))
        .run();
    let mut wire = Wire::to(server.address).unwrap();
    let lines = || String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
    let ready = lines().lines().count();
    wire.send(&schedule("task", now() + 3_600_000, 30)).unwrap();
    acks(&mut wire, 1).unwrap();
    let begun = Instant::now();
    loop {
        let mut calls = trace::read(&lines());
        calls.retain(|call| call.arguments.contains("/data/"));
        let since = calls.iter().filter(|call| call.begun >= ready);
        let since: Vec<Call> = since.cloned().collect();
        if is_done(&calls, &since) {
            return server.kill();
        }
        assert!(begun.elapsed() < PATIENCE, "{calls:#?}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the calls before the last write of the record, and those after it; two empty slices if
/// the record is not written yet.
fn around_last_record(calls: &[Call]) -> (&[Call], &[Call]) {
    let is_write = |call: &Call| is_record(call) && call.name == "pwrite64";
    let last = calls.iter().rposition(is_write);
    last.map_or_else(Default::default, |last| {
        (&calls[..last], &calls[last + 1..])
    })
}

/// Whether the last call on the journal before the last write of the record is a sync, and no
/// call on the journal follows that write.
fn is_record_of_synced_journal(calls: &[Call]) -> bool {
    let (before, after) = around_last_record(calls);
    let synced = names(before, is_journal).last() == Some(&"fdatasync");
    synced && names(after, is_journal).is_empty()
}

fn names(calls: &[Call], is_on: fn(&Call) -> bool) -> Vec<&str> {
    let calls = calls.iter().filter(|call| is_on(call));
    calls.map(|call| &*call.name).collect()
}

#[test]
fn commit_record_is_written_after_the_sync_of_its_commit() {
    first_task("always", |_, calls| is_record_of_synced_journal(calls));
}

#[test]
fn commit_record_is_synced_while_the_server_runs() {
    first_task("always", |_, calls| {
        let (_, after) = around_last_record(calls);
        names(after, is_record).contains(&"fdatasync")
    });
}

#[test]
fn interval_syncs_the_journal_and_then_writes_the_commit_record() {
    first_task("interval:1ms", |_, calls| {
        is_record_of_synced_journal(calls)
    });
}

/// The first commit of a store begins a generation of the deduplication window and clears its space.
/// That can be before the server listens: it writes its own first commit then.
#[test]
fn both_slots_of_the_commit_record_are_synced_before_a_space_is_cleared() {
    first_task("always", |calls, _| {
        // The store is made, and the record with it, before its file has its name.
        let first = calls.iter().position(is_record);
        let calls = first.map_or_else(Default::default, |first| &calls[first..]);
        let is_cleared = |call: &Call| call.arguments.contains("/store/keyspaces/");
        let Some(cleared) = calls.iter().position(is_cleared) else {
            return false;
        };
        let before = names(&calls[..cleared], is_record);
        assert_eq!(before, ["pwrite64", "fdatasync", "pwrite64", "fdatasync"]);
        true
    });
}

#[test]
fn commit_record_without_room_ends_no_server_and_refuses_no_start() {
    if !strace::is_there() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let start = crate::start(directory.path());
    let server = start.run();
    let mut wire = Wire::to(server.address).unwrap();
    wire.send(&schedule("first", now(), 30)).unwrap();
    let mut acknowledged: BTreeSet<String> = acks(&mut wire, 1).unwrap().into_iter().collect();
    server.kill();

    // The start writes both slots.
    let inject = "inject=pwrite64:error=ENOSPC:when=3+";
    let server = crate::start(directory.path())
        .under(strace::line(&[
            "-o",
            "/dev/null",
            "-e",
            "trace=pwrite64",
            "-e",
            inject,
        ]))
        .run();
    let mut wire = Wire::to(server.address).unwrap();
    for id in ["second", "third"] {
        wire.send(&schedule(id, now(), 30)).unwrap();
        acknowledged.extend(acks(&mut wire, 1).unwrap());
    }
    let warning = "the commit record cannot be written";
    server.logs(warning);
    let log = server.log();
    assert_eq!(log.matches(warning).count(), 1, "{log}");
    server.kill();
    deliver_all(&start.run(), &acknowledged);
}
