//! Three nodes and three members of etcd, in processes of their own, under load and faults.
//!
//! A client that shares no code with the server notes what it is told, and checks afterwards: no
//! acknowledged task is lost, and none is delivered before its time. `CLUSTER_FAULTS` sets the
//! number of faults; the default takes about a minute. After some of them a new cluster is made, so
//! what was lost is counted often, and a run does not end with one that is full. `CLUSTER_SEED`
//! repeats their order, and `CLUSTER_KINDS` limits them to some kinds. `CLUSTER_JUDGES_LEASES=1` also
//! checks what only a quiet machine can keep: no delivery begins after its ack was confirmed, and a
//! fault interrupts the service for a few leases at most.

mod book;
mod consumer;
mod faults;
mod line;
mod nodes;
mod own_routes;
mod producer;
mod proxy;
mod upgrade;

use std::{
    sync::{Arc, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use book::Book;
use faults::Faults;
use nodes::Nodes;
use testkit::small::with_or_without_mounts;

/// The lease of a node.
const LEASE: Duration = Duration::from_secs(2);

/// Enough that every shard has one.
const ROUTES: usize = 16;

/// Faults in an ordinary run of the tests: each kind once.
const FAULTS: usize = 9;

/// Faults of one cluster.
const OF_ONE: usize = 50;

fn number(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    Some(value.parse().expect("it is a number"))
}

fn route(number: usize) -> String {
    format!("route-{number}")
}

#[test]
fn faults_break_no_promise() {
    if !testkit::Etcd::is_installed() {
        return;
    }
    with_or_without_mounts(faults_break_nothing);
}

/// With small file systems, disks can be full, too.
fn faults_break_nothing(can_mount: bool) {
    let seed = number("CLUSTER_SEED").unwrap_or_else(|| fastrand::u64(..));
    let faults = number("CLUSTER_FAULTS").map_or(FAULTS, |faults| faults as usize);
    let mut too_long = Vec::new();
    for (round, before) in (0..).zip((0..faults).step_by(OF_ONE)) {
        let faults = OF_ONE.min(faults - before);
        too_long.extend(break_one(can_mount, seed.wrapping_add(round), faults));
    }
    assert!(too_long.is_empty(), "without service: {too_long:?}");
}

/// Lets things go wrong in a cluster. Returns what interrupted the service for too long.
fn break_one(can_mount: bool, seed: u64, faults: usize) -> Vec<String> {
    println!("CLUSTER_SEED={seed} CLUSTER_FAULTS={faults}");
    let folder = tempfile::tempdir().expect("a folder can be made");
    let nodes = Nodes::start(folder.path(), can_mount);
    let book = Arc::new(Book::new(nodes.map()));
    let mut clients = Vec::new();
    for number in 0..ROUTES {
        // Two for each route, which are rarely connected to the same node.
        for half in 0..2 {
            let book = book.clone();
            clients.push(thread::spawn(move || producer::run(&book, number, half)));
        }
    }
    for number in 0..6 {
        let book = book.clone();
        clients.push(thread::spawn(move || consumer::run(&book, number)));
    }
    let began = Instant::now();
    let mut faults = Faults::new(nodes, book.clone(), fastrand::Rng::with_seed(seed), faults);
    let too_long = faults.run();
    println!("{:?} of faults", began.elapsed());
    book.produces.store(false, Ordering::Relaxed);
    book.wait_until_all_are_done();
    book.consumes.store(false, Ordering::Relaxed);
    for client in clients {
        client.join().expect("a client has not panicked");
    }
    book.report();
    too_long
}
