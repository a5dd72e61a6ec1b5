//! The first start of all, which makes the store, killed wherever it touches the disk.

use std::collections::{BTreeMap, BTreeSet};

use tempfile::TempDir;
use testkit::{Server, Wire, request::now};

use crate::{acks, deliver_all, schedule, serves, strace};

const CALLS: &str =
    "mkdir,mkdirat,ftruncate,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat";

/// Makes it every place, and not only those at the beginning, the end and some between.
const ALL: &str = "HYPER_DELAY_KILLS";

/// Starts a server over a new directory, which is killed when one of its threads makes a call the `nth` time, if
/// that is given.
fn start(at: Option<(&str, usize)>) -> (TempDir, Result<Server, String>) {
    // In memory, where there is such a place: it is the process that ends, not the power.
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

/// How often the thread that makes each call most makes it, in a start that nothing befalls.
fn touches() -> BTreeMap<String, usize> {
    let (directory, server) = start(None);
    let server = server.unwrap();
    assert!(serves(&server));
    server.kill();
    let trace = strace::finished(&directory.path().join("trace"));
    let mut touches: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for line in trace.lines() {
        let (thread, call) = line.split_once(' ').unwrap();
        if let Some((name, _)) = call.trim_start().split_once('(') {
            *touches.entry((thread, name)).or_default() += 1;
        }
    }
    let mut most = BTreeMap::new();
    for ((_, name), count) in touches {
        let most = most.entry(name.to_owned()).or_default();
        *most = count.max(*most);
    }
    most
}

#[test]
fn a_first_start_that_is_killed_anywhere_leaves_nothing_that_hinders_the_next() {
    if !strace::is_there() {
        return;
    }
    let all = std::env::var_os(ALL).is_some();
    let mut killed = BTreeMap::new();
    for (call, count) in touches() {
        for nth in 1..=count {
            let near_an_end = nth <= 4 || nth + 4 > count;
            if !(all || near_an_end || nth % 32 == 0) {
                continue;
            }
            let (directory, server) = start(Some((&call, nth)));
            let through = server.is_ok_and(|server| serves(&server));
            *killed.entry(call.clone()).or_insert(0) += usize::from(!through);
            let server = crate::start(directory.path()).run();
            let mut wire = Wire::to(server.address).unwrap();
            wire.send(&schedule("task", now(), 30)).unwrap();
            let ids: BTreeSet<String> = acks(&mut wire, 1).unwrap().into_iter().collect();
            deliver_all(&server, &ids);
        }
    }
    println!("killed at so many places, and started again each time: {killed:?}");
    assert!(killed["ftruncate"] > 0 && killed["rename"] > 0 && killed["fsync"] > 8);
}
