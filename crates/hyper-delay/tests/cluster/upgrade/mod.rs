//! A cluster of release 0.3 that is upgraded node by node, under load. `cargo xtask upgrade` builds
//! the older server and runs these tests.

mod client;
mod retries;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{Etcd, Peer};

use super::{
    ROUTES,
    book::Book,
    consumer,
    nodes::{NODES, Nodes, PROGRAM},
    producer, route,
};
use client::Client;
use retries::Retries;

/// How long the nodes have the same releases.
const STEP: Duration = Duration::from_secs(5);

/// The release of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Release {
    V0_3,
    Current,
}

/// How a node is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// In order.
    End,
    Kill,
}

/// Which node gets which release. Some go back, while nothing new is used.
const STEPS: [(usize, Release, Stop); 9] = [
    (0, Release::Current, Stop::End),
    (1, Release::Current, Stop::Kill),
    (0, Release::V0_3, Stop::End),
    (2, Release::Current, Stop::End),
    (1, Release::V0_3, Stop::Kill),
    (2, Release::V0_3, Stop::End),
    (0, Release::Current, Stop::Kill),
    (1, Release::Current, Stop::End),
    (2, Release::Current, Stop::End),
];

fn older() -> String {
    let older = std::env::var("HYPER_DELAY_OLDER");
    older.expect("HYPER_DELAY_OLDER is the server of 0.3: `cargo xtask upgrade`")
}

/// The nodes, and the release of each.
struct Upgrade {
    nodes: Nodes,
    older: String,
    releases: [Release; NODES],
}

impl Upgrade {
    fn start(folder: &std::path::Path, releases: [Release; NODES]) -> Self {
        let older = older();
        let programs = releases.map(|release| match release {
            Release::V0_3 => &*older,
            Release::Current => PROGRAM,
        });
        let nodes = Nodes::start_with(programs, folder, false);
        Self {
            nodes,
            older,
            releases,
        }
    }

    fn set(&mut self, node: usize, release: Release, stop: Stop) {
        match stop {
            Stop::End => self.nodes.end(node),
            Stop::Kill => self.nodes.kill(node),
        }
        self.nodes.set_program(
            node,
            match release {
                Release::V0_3 => &self.older,
                Release::Current => PROGRAM,
            },
        );
        self.releases[node] = release;
        self.nodes.run(node);
    }

    /// The release of the leader of each shard that has one.
    fn leaders(&self) -> BTreeMap<u64, Release> {
        let status = self.nodes.status();
        let shards = status["shards"].as_array().expect("it has shards").iter();
        let leader = |shard: &Value| {
            let node = shard["leader"]["node"].as_str()?.strip_prefix('n')?;
            let node: usize = node.parse().ok()?;
            Some((shard["shard"].as_u64()?, self.releases[node]))
        };
        shards.filter_map(leader).collect()
    }

    fn address(&self, node: usize) -> SocketAddr {
        self.nodes.map().address(node).expect("it runs")
    }

    fn client(&self, node: usize) -> Client {
        Client::connect(self.address(node))
    }

    fn peer(&self, node: usize) -> Peer {
        Peer::connect(self.address(node))
    }
}

#[test]
#[ignore = "needs the server of 0.3: `cargo xtask upgrade`"]
fn an_upgrade_node_by_node_breaks_no_promise_and_leaves_an_exact_list() {
    if !Etcd::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut upgrade = Upgrade::start(folder.path(), [Release::V0_3; NODES]);
    let book = Arc::new(Book::of_upgrade(upgrade.nodes.map()));
    let clients = load(&book);
    let mut retries = Retries::default();
    let mut moved = (0, 0);
    let mut before = upgrade.leaders();
    for (step, (node, release, stop)) in STEPS.into_iter().enumerate() {
        has_service(&upgrade.nodes, &book);
        fail_at_all(&upgrade, &mut retries, step);
        book.begin_to_measure();
        let begun = Instant::now();
        upgrade.set(node, release, stop);
        let gap = has_service(&upgrade.nodes, &book);
        let after = upgrade.leaders();
        let changes = after.iter().map(|(shard, new)| (before.get(shard), *new));
        for change in changes {
            match change {
                (Some(Release::V0_3), Release::Current) => moved.0 += 1,
                (Some(Release::Current), Release::V0_3) => moved.1 += 1,
                _ => {}
            }
        }
        let led = |release| after.values().filter(|it| **it == release).count();
        println!(
            "{stop:?} of node {node}, then {release:?}: no service for {gap:.1?}; 0.3 leads {} \
             shards, this release {}",
            led(Release::V0_3),
            led(Release::Current)
        );
        before = after;
        thread::sleep(STEP.saturating_sub(begun.elapsed()));
    }
    fail_at_all(&upgrade, &mut retries, STEPS.len());
    println!(
        "{} shards moved to this release, {} back to 0.3",
        moved.0, moved.1
    );
    assert!(moved.1 > 0, "0.3 has taken over what this release has led");
    book.produces.store(false, Ordering::Relaxed);
    book.wait_until_all_are_done();
    book.consumes.store(false, Ordering::Relaxed);
    for client in clients {
        client.join().expect("a client has not panicked");
    }
    book.report();
    for node in 0..NODES {
        retries.check(&mut upgrade.client(node));
    }
}

fn load(book: &Arc<Book>) -> Vec<thread::JoinHandle<()>> {
    let mut clients = Vec::new();
    for number in 0..ROUTES {
        let book = book.clone();
        clients.push(thread::spawn(move || producer::run(&book, number, 0)));
    }
    // Two of each node.
    for number in 0..2 * NODES {
        let book = book.clone();
        clients.push(thread::spawn(move || consumer::run(&book, number)));
    }
    clients
}

/// Waits until every route has service. Returns for how long one had none.
fn has_service(nodes: &Nodes, book: &Book) -> Duration {
    let measured = book.measured(|routes| println!("no service on {routes:?} for long"));
    measured.unwrap_or_else(|routes| panic!("no service on {routes:?}: {}", nodes.state(&routes)))
}

/// Lets rounds fail at a leader of each release that leads.
fn fail_at_all(upgrade: &Upgrade, retries: &mut Retries, step: usize) {
    for node in 0..NODES {
        let release = upgrade.releases[node];
        if !upgrade.releases[..node].contains(&release) {
            retries.fail(&mut upgrade.client(node), release, step);
        }
    }
}

/// A delay makes a record of version 3, and an entry of version 2 with it.
#[test]
#[ignore = "needs the server of 0.3: `cargo xtask upgrade`"]
fn an_older_node_stops_before_an_entry_that_it_does_not_know() {
    if !Etcd::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let releases = [Release::Current, Release::Current, Release::V0_3];
    let mut upgrade = Upgrade::start(folder.path(), releases);
    // The node of 0.3 leads nothing after this.
    upgrade.set(2, Release::V0_3, Stop::End);
    let mut peer = upgrade.peer(0);
    for number in 0..ROUTES {
        let request = json!({
            "kind": "schedule",
            "route_key": route(number),
            "id": "delayed",
            "delay_ms": 1,
        });
        let served = |reply: &Value| reply["code"] != "unavailable";
        let reply = peer.until(|peer| peer.ask(&request.to_string()), served);
        assert_eq!(reply["kind"], "ack", "{reply}");
    }
    let line = upgrade.nodes.server(2).logs("upgrade this node");
    println!("0.3 says: {line}");
    upgrade.set(2, Release::Current, Stop::End);
    // Each node serves all shards, and the one that was stopped has every entry.
    let mut peer = upgrade.peer(2);
    for number in 0..ROUTES {
        let get = json!({"kind": "get", "route_key": route(number), "id": "delayed"});
        peer.until(
            |peer| peer.ask(&get.to_string()),
            |task| task["found"] == true,
        );
    }
}
