//! Nodes with clients, links and stores, on a log in memory.

mod addresses;
mod expiry;
mod stalled;

use std::{
    collections::BTreeMap,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use tempfile::TempDir;
use testkit::{
    Peer, loopback,
    request::{later, now},
};
use tokio::{
    net::TcpListener,
    sync::{oneshot, watch},
    task::JoinHandle,
};

use super::*;
use crate::{
    Charter,
    log::{
        LogRequest, Member,
        fake_async::{FakeConnection, SharedLog},
    },
};
use hyper_delay_config::Config;
use hyper_delay_engine::sizes::Sizes;
use hyper_delay_fjall::{
    data_directory::SHARDS as SHARD_FOLDER, lock as lock_store, node_directory::NodeDirectory,
};
use hyper_delay_store::StoreError;

const SHARDS: u16 = 4;
/// A slow machine can lose a lease. It costs a test time and nothing else.
const LEASE: Duration = Duration::from_secs(2);
/// A slow machine keeps one, too: for tests that fail without it.
const LONG_LEASE: Duration = Duration::from_secs(60);
const PATIENCE: Duration = testkit::PATIENCE;

/// A node that serves.
struct RunningServer {
    address: SocketAddr,
    log: Arc<FakeConnection>,
    stop: oneshot::Sender<()>,
    server: JoinHandle<Result<(), ServeError>>,
}

/// The nodes of a cluster with their disks and addresses.
struct Nodes {
    lease: Duration,
    log: Arc<SharedLog>,
    disks: Vec<TempDir>,
    links: Vec<SocketAddr>,
    running: BTreeMap<usize, RunningServer>,
}

fn name(node: usize) -> String {
    format!("n{node}")
}

impl Nodes {
    /// Starts a cluster of this many nodes.
    async fn start(number: usize) -> Self {
        Self::start_with(number, LEASE).await
    }

    /// Like [`start`](Self::start), with leases of this length.
    async fn start_with(number: usize, lease: Duration) -> Self {
        let charter = Charter {
            cluster: 7,
            shards: SHARDS,
        };
        let log = SharedLog::new(charter);
        log.carry_out(&LogRequest::CreateCluster(charter));
        let mut nodes = Self {
            lease,
            log,
            disks: Vec::new(),
            links: Vec::new(),
            running: BTreeMap::new(),
        };
        for node in 0..number {
            let address = loopback();
            nodes.links.push(address);
            nodes.disks.push(tempfile::tempdir().unwrap());
            nodes.log.carry_out(&LogRequest::Join(Member {
                node: name(node).as_str().into(),
                address: address.to_string().into(),
            }));
        }
        for node in 0..number {
            nodes.run(node).await;
        }
        nodes
    }

    /// Runs a node once the one before it has closed its files: on a slow machine its last threads
    /// end a little later than it.
    async fn run(&mut self, node: usize) {
        let link = self.links[node];
        let data_dir = self.disks[node].path().join("db");
        let begun = Instant::now();
        while let Err(error) = try_locks(&data_dir) {
            assert!(begun.elapsed() < PATIENCE, "{error}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let running = self.process(node, link, data_dir).await;
        self.running.insert(node, running);
    }

    /// Starts a process of a node, with this address for links and this data directory.
    async fn process(&self, node: usize, link: SocketAddr, data_dir: PathBuf) -> RunningServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let cluster = Cluster {
            etcd: vec!["http://127.0.0.1:1".to_owned()],
            node: name(node),
            advertise: link.to_string(),
            bind_addr: link,
            lease_ms: u64::try_from(self.lease.as_millis()).unwrap(),
            tls: None,
            etcd_tls: None,
            etcd_user: None,
        };
        let config = Config {
            data_dir,
            disk_reserve_mib: 0,
            retry_delay_ms: 50,
            ..Config::default()
        };
        let log = self.log.connect(self.lease / 4);
        let connection = log.clone();
        let (stop, stopping) = oneshot::channel();
        let server = tokio::spawn(async move {
            let (_fixed, configs) = watch::channel(config);
            let frontend = Frontend::prepare(listener, configs, None, Arc::default()).await?;
            let ended = serve_with(frontend, &cluster, log, Sizes::SMALL, async {
                let _ = stopping.await;
            })
            .await;
            // A client only sees that its connection ends.
            ended.inspect_err(|error| eprintln!("the node ends: {error}"))
        });
        RunningServer {
            address,
            log: connection,
            stop,
            server,
        }
    }

    fn address(&self, node: usize) -> SocketAddr {
        self.running[&node].address
    }

    async fn stop(&mut self, node: usize) {
        let RunningServer { stop, server, .. } = self.running.remove(&node).unwrap();
        stop.send(()).unwrap();
        let ended = tokio::time::timeout(PATIENCE, server).await;
        ended.expect("it ends").unwrap().unwrap();
    }

    /// Ends a node as a crash would.
    async fn kill(&mut self, node: usize) {
        let RunningServer { server, .. } = self.running.remove(&node).unwrap();
        server.abort();
        let _ = server.await;
    }

    async fn stop_all(mut self) {
        for node in 0..self.disks.len() {
            if self.running.contains_key(&node) {
                self.stop(node).await;
            }
        }
    }

    /// Ends all nodes as a crash would: in an orderly end one waits for half of a lease, until
    /// another one that has ended can write no deliveries any more.
    async fn kill_all(mut self) {
        for node in 0..self.disks.len() {
            self.kill(node).await;
        }
    }
}

/// Fails while a node has the data directory, or the store of a shard in it, open.
fn try_locks(data_dir: &Path) -> Result<(), StoreError> {
    NodeDirectory::lock(data_dir, SHARDS)?;
    let shards = fs::read_dir(data_dir.join(SHARD_FOLDER)).unwrap();
    for shard in shards {
        lock_store(&shard.unwrap().path())?;
    }
    Ok(())
}

/// Runs what blocks beside the nodes.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let work = tokio::task::spawn_blocking(work);
    let done = tokio::time::timeout(PATIENCE, work).await;
    done.expect("it is done in time").unwrap()
}

/// Asks until the reply is no longer that a shard has no leader.
fn insist(peer: &mut Peer, request: &str) -> serde_json::Value {
    loop {
        let reply = peer.ask(request);
        if reply["code"] != "unavailable" {
            return reply;
        }
    }
}

fn schedule(route: &str, id: &str, at: u64) -> String {
    format!(
        r#"{{"kind":"schedule","route_key":"{route}","id":"{id}","fire_at":{at},"payload_base64":"aGk="}}"#
    )
}

/// One route for each shard at least.
fn routes() -> impl Iterator<Item = String> {
    (0..12).map(|number| format!("route-{number}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_delivered_by_another_node_than_the_one_that_took_it() {
    let nodes = Nodes::start(3).await;
    let addresses: Vec<_> = (0..3).map(|node| nodes.address(node)).collect();
    blocking(move || {
        let mut producer = Peer::connect(addresses[0]);
        let mut consumer = Peer::connect(addresses[1]);
        for route in routes() {
            let scheduled = insist(&mut producer, &schedule(&route, "x", now() + 300));
            assert_eq!(scheduled["kind"], "ack", "{scheduled}");
            let register = format!(r#"{{"kind":"register","route_key":"{route}"}}"#);
            assert_eq!(insist(&mut consumer, &register)["kind"], "registered");
        }
        for _ in routes() {
            let delivery = consumer.delivery();
            assert_eq!(
                (&delivery["id"], &delivery["payload_base64"]),
                (&"x".into(), &"aGk=".into())
            );
            acks(&mut consumer, &delivery);
        }
    })
    .await;
    nodes.stop_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_node_reads_what_was_acknowledged_on_another() {
    // A task is not in flight between two leaderships of its shard.
    let nodes = Nodes::start_with(3, LONG_LEASE).await;
    let addresses: Vec<_> = (0..3).map(|node| nodes.address(node)).collect();
    blocking(move || {
        let mut peers: Vec<_> = addresses.iter().map(|at| Peer::connect(*at)).collect();
        let at = later();
        for (number, route) in routes().enumerate() {
            insist(&mut peers[number % 3], &schedule(&route, "x", at));
            let get = format!(r#"{{"kind":"get","route_key":"{route}","id":"x"}}"#);
            for peer in &mut peers {
                let task = insist(peer, &get);
                assert_eq!(
                    (&task["found"], &task["fire_at"]),
                    (&true.into(), &at.into()),
                    "{task}"
                );
            }
            let stats = insist(&mut peers[(number + 1) % 3], r#"{"kind":"stats"}"#);
            assert_eq!(stats["waiting"], number + 1, "{stats}");
        }
        for peer in &mut peers {
            let counted = |future: &serde_json::Value| {
                let days = future["days"].as_array().unwrap().iter();
                days.map(|day| day.as_u64().unwrap()).sum::<u64>()
            };
            let future = insist(peer, r#"{"kind":"future"}"#);
            assert_eq!(counted(&future), 12, "{future}");
        }
        // What one consumer has in flight, every node sees.
        let register = r#"{"kind":"register","route_key":"flight"}"#;
        assert_eq!(insist(&mut peers[0], register)["kind"], "registered");
        insist(&mut peers[1], &schedule("flight", "y", 0));
        let delivery = peers[0].delivery();
        for peer in &mut peers {
            let task = insist(peer, r#"{"kind":"get","route_key":"flight","id":"y"}"#);
            assert_eq!(task["state"], "in_flight", "{task}");
            let stats = insist(peer, r#"{"kind":"stats","route_key":"flight"}"#);
            assert_eq!(stats["in_flight"], 1, "{stats}");
        }
        acks(&mut peers[0], &delivery);
        let task = insist(
            &mut peers[2],
            r#"{"kind":"get","route_key":"flight","id":"y"}"#,
        );
        assert_eq!(task["found"], false, "{task}");
    })
    .await;
    nodes.kill_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_and_deliveries_survive_the_end_of_a_node() {
    let mut nodes = Nodes::start(3).await;
    let address = nodes.address(2);
    let mut consumer = blocking(move || {
        let mut consumer = Peer::connect(address);
        for route in routes() {
            let register = format!(r#"{{"kind":"register","route_key":"{route}"}}"#);
            assert_eq!(insist(&mut consumer, &register)["kind"], "registered");
            insist(&mut consumer, &schedule(&route, "before", 0));
        }
        consumer
    })
    .await;
    // One is handed over, the other one is not.
    nodes.stop(0).await;
    nodes.kill(1).await;
    blocking(move || {
        for _ in routes() {
            let delivery = consumer.delivery();
            assert_eq!(delivery["id"], "before");
            acks(&mut consumer, &delivery);
        }
        for route in routes() {
            insist(&mut consumer, &schedule(&route, "after", 0));
            let is_it =
                |line: &serde_json::Value| line["id"] == "after" && line["route_key"] == *route;
            let delivery = consumer.find(|line| line["kind"] == "delivery" && is_it(line));
            assert_eq!(delivery["attempt"], 1);
            acks(&mut consumer, &delivery);
        }
    })
    .await;
    nodes.stop_all().await;
}

/// Acknowledges a delivery and asserts that this has removed the task. An ack without a leader may
/// have been executed all the same, and the repeated one then finds nothing.
fn acks(peer: &mut Peer, delivery: &serde_json::Value) {
    let ack = testkit::request::echo_with("ack", delivery, r#""confirm":true"#);
    let first = peer.ask(&ack);
    if first["code"] == "unavailable" {
        assert_eq!(insist(peer, &ack)["kind"], "acked");
    } else {
        assert_eq!(
            (&first["kind"], &first["removed"]),
            (&"acked".into(), &true.into()),
            "{first}"
        );
    }
}
