//! The first start of all, which makes the store, killed wherever it touches the disk.

use std::collections::BTreeSet;

use serde_json::json;

use crate::{
    acks, deliver_all, schedule,
    server::{PATIENCE, Server, Start},
    strace,
    wire::{Wire, line, now},
};

const CALLS: &str =
    "mkdir,mkdirat,ftruncate,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat";

/// Whether the server has its store open.
fn serves(server: &Server) -> bool {
    Wire::to(server.address).is_ok_and(|mut wire| {
        let ping = line(&json!({"kind": "ping"}));
        wire.send(&ping).is_ok() && wire.receive(PATIENCE).is_ok_and(|lines| !lines.is_empty())
    })
}

#[test]
fn a_first_start_that_is_killed_anywhere_leaves_nothing_that_hinders_the_next() {
    if !strace::is_there() {
        return;
    }
    let mut killed = 0;
    for nth in 1.. {
        let directory = tempfile::tempdir().unwrap();
        let trace = format!("trace={CALLS}");
        let inject = format!("inject={CALLS}:signal=KILL:when={nth}");
        let started = Start {
            under: strace::line(&["-o", "/dev/null", "-e", &trace, "-e", &inject]),
            ..Start::new(directory.path())
        }
        .try_run();
        let through = started.is_ok_and(|server| serves(&server));
        let server = Start::new(directory.path()).run();
        let mut wire = Wire::to(server.address).unwrap();
        wire.send(&schedule("task", now(), 30)).unwrap();
        let ids: BTreeSet<String> = acks(&mut wire, 1).unwrap().into_iter().collect();
        deliver_all(&server, &ids);
        if through {
            break;
        }
        killed = nth;
    }
    println!("killed at {killed} places");
    assert!(killed > 10);
}
