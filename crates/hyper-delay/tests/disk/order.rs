//! The server sends no ack before the schedule is synced. The test reads the server's system calls.

use std::collections::HashMap;

use serde_json::json;
use testkit::{Wire, request::now};

use crate::{
    acks, schedule, strace,
    trace::{self, Call},
};

const TASKS: usize = 200;

/// Returns an id that is a prefix of no other id and occurs in nothing else that is written.
fn id(number: usize) -> String {
    format!("traced-{number:04}-task")
}

/// Schedules one after another, then in groups of growing size.
fn run(wire: &mut Wire) {
    // The tasks are due after the test, so nothing else is written about them.
    let fire_at = now() + 3_600_000;
    for number in 0..TASKS {
        wire.send(&schedule(&id(number), fire_at, 30)).unwrap();
        acks(wire, 1).unwrap();
    }
    let mut number = TASKS;
    for group in (1..20).chain([100, 400]) {
        let lines: Vec<u8> = (number..number + group)
            .flat_map(|number| schedule(&id(number), fire_at, 30 * group.min(50)))
            .collect();
        wire.send(&lines).unwrap();
        acks(wire, group).unwrap();
        number += group;
    }
}

/// Returns the ids in the bytes that a call has written.
fn ids(call: &Call) -> impl Iterator<Item = &str> {
    let text = &call.arguments;
    let places = text.match_indices("traced-");
    places.map(|(place, _)| &text[place..place + id(0).len()])
}

/// Returns the ids of the acks that were sent before a sync covered them, and the number of all
/// acks.
fn early(calls: &[Call]) -> (Vec<String>, usize) {
    let on_journal = |call: &&Call| call.is_on(".jnl") && !call.has_failed();
    let (syncs, writes): (Vec<&Call>, Vec<&Call>) = calls
        .iter()
        .filter(on_journal)
        .partition(|call| call.name.ends_with("sync"));
    let mut written: HashMap<&str, usize> = HashMap::new();
    for (id, ended) in writes
        .iter()
        .flat_map(|call| ids(call).map(|id| (id, call.ended)))
    {
        let last = written.entry(id).or_default();
        *last = ended.max(*last);
    }
    let mut early = Vec::new();
    let mut count = 0;
    for answer in calls.iter().filter(|call| call.is_on("TCP")) {
        for id in ids(answer) {
            count += 1;
            let covered = written.get(id).is_some_and(|written| {
                let mut syncs = syncs.iter();
                syncs.any(|sync| *written < sync.begun && sync.ended < answer.begun)
            });
            if !covered {
                early.push(id.to_owned());
            }
        }
    }
    (early, count)
}

fn trace(sync: &str) -> Vec<Call> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace");
    let traced = "trace=write,pwrite64,writev,fsync,fdatasync,sendto,sendmsg";
    let arguments = [
        "--seccomp-bpf",
        "-yy",
        "-ttt",
        "-s",
        "1000000",
        "-e",
        traced,
        "-o",
    ];
    let arguments = arguments.into_iter().chain([file.to_str().unwrap()]);
    let server = crate::start(directory.path())
        .config(json!({"sync": sync}))
        .under(strace::line(&arguments.collect::<Vec<_>>()))
        .run();
    let mut wire = Wire::to(server.address).unwrap();
    run(&mut wire);
    server.signal("INT");
    drop(wire);
    let (status, log) = server.ended();
    assert!(status.success(), "{log}");
    trace::read(&strace::finished(&file))
}

#[test]
fn every_ack_is_sent_after_a_sync_of_its_schedule() {
    if !strace::is_there() {
        return;
    }
    let calls = trace("always");
    let (early, count) = early(&calls);
    let syncs = calls.iter().filter(|call| call.name == "fdatasync").count();
    println!(
        "{count} acks, {syncs} fdatasyncs, {} acks too early",
        early.len()
    );
    assert_eq!(count, TASKS + (1..20).sum::<usize>() + 500);
    assert!(early.is_empty(), "{early:?}");
    // Single schedules cannot share a sync; groups do.
    assert!(syncs >= TASKS && syncs < count, "{syncs}");
}

/// The check finds early acks: with `sync: never` all acks are early.
#[test]
fn acks_without_a_sync_are_found_to_be_early() {
    if !strace::is_there() {
        return;
    }
    let (early, count) = early(&trace("never"));
    assert_eq!(early.len(), count);
    assert!(count > 0);
}
