//! The first start, which creates the store, killed at each of its system calls on the disk.

use std::collections::{BTreeMap, BTreeSet};

use tempfile::TempDir;
use testkit::{Server, Wire, request::now};

use crate::{acks, deliver_all, schedule, serves, strace};

const CALLS: &str =
    "mkdir,mkdirat,ftruncate,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat";

/// If this variable is set, the test kills at every call instead of a selection.
const ALL: &str = "HYPER_DELAY_FAULTS";

/// Starts a server in a new directory. With `at`, a call and a number, the server is killed when
/// one of its threads makes that call for the `nth` time.
fn start(at: Option<(&str, usize)>) -> (TempDir, Result<Server, String>) {
    // A file system in memory is enough: the process ends, not the power.
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let directory = directory.unwrap();
    let file = directory.path().join("trace");
    let traced = at.map_or(CALLS, |(call, _)| call);
    let trace = format!("trace={traced}");
    let mut arguments = vec!["-o", file.to_str().unwrap(), "-e", &trace];
    let inject = at.map(|(call, nth)| format!("inject={call}:signal=KILL:when={nth}"));
    if let Some(inject) = &inject {
        arguments.extend(["-e", inject]);
    }
    let server = crate::start(directory.path())
        .under(strace::line(&arguments))
        .try_run();
    (directory, server)
}

/// Runs an undisturbed start. Returns for each system call the highest number of calls of one
/// thread.
fn counts() -> BTreeMap<String, usize> {
    let (directory, server) = start(None);
    let server = server.unwrap();
    assert!(serves(&server));
    server.kill();
    let trace = strace::finished(&directory.path().join("trace"));
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for line in trace.lines() {
        let (thread, call) = line.split_once(' ').unwrap();
        if let Some((name, _)) = call.trim_start().split_once('(') {
            *counts.entry((thread, name)).or_default() += 1;
        }
    }
    let mut most = BTreeMap::new();
    for ((_, name), count) in counts {
        let most = most.entry(name.to_owned()).or_default();
        *most = count.max(*most);
    }
    most
}

#[test]
fn the_server_starts_after_a_kill_at_any_call_of_the_first_start() {
    if !strace::is_there() {
        return;
    }
    let all = std::env::var_os(ALL).is_some();
    let mut killed = BTreeMap::new();
    for (call, count) in counts() {
        for nth in 1..=count {
            let near_an_end = nth <= 4 || nth + 4 > count;
            if !(all || near_an_end || nth % 32 == 0) {
                continue;
            }
            let (directory, server) = start(Some((&call, nth)));
            let survived = server.is_ok_and(|server| serves(&server));
            *killed.entry(call.clone()).or_insert(0) += usize::from(!survived);
            let server = crate::start(directory.path()).run();
            let mut wire = Wire::to(server.address).unwrap();
            wire.send(&schedule("task", now(), 30)).unwrap();
            let ids: BTreeSet<String> = acks(&mut wire, 1).unwrap().into_iter().collect();
            deliver_all(&server, &ids);
        }
    }
    println!("starts killed per system call, each followed by a restart: {killed:?}");
    assert!(killed["ftruncate"] > 0 && killed["rename"] > 0 && killed["fsync"] > 8);
}
