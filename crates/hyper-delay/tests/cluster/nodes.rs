//! The processes: nodes, etcd and the proxies between them.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use serde_json::json;
use testkit::{Ended, Etcd, Server, Start, loopback, process, small::Small};

use super::{
    LEASE,
    book::now,
    line::{Came, Line},
    proxy::Proxy,
    route,
};

pub(crate) const NODES: usize = 3;

/// A delivery that was past its last check when the process was stopped comes when it goes on, and
/// waits in sockets and clients for some time.
const AFTERMATH: Duration = Duration::from_secs(10);

/// The size of the disk of a node in MiB. The journals of 8 stores alone can take half of it. It is
/// in memory, as far as it is used.
const DISK: usize = 2_048;

/// The server of this release.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_hyper-delay");

/// Where clients find the nodes.
pub(crate) struct Map(Mutex<Vec<Place>>);

#[derive(Default, Clone)]
struct Place {
    address: Option<SocketAddr>,
    is_stopped: bool,
    went_on: Option<Instant>,
}

impl Map {
    fn places(&self) -> MutexGuard<'_, Vec<Place>> {
        self.0.lock().expect("no client has panicked")
    }

    pub(crate) fn address(&self, node: usize) -> Option<SocketAddr> {
        self.places()[node % NODES].address
    }

    pub(crate) fn is_well(&self, node: usize) -> bool {
        let place = &self.places()[node % NODES];
        place.address.is_some() && !place.is_stopped
    }

    pub(crate) fn had_stopped(&self, node: usize) -> bool {
        let place = &self.places()[node % NODES];
        place.is_stopped || place.went_on.is_some_and(|at| at.elapsed() < AFTERMATH)
    }
}

/// See the [module](self).
pub(crate) struct Nodes {
    pub(crate) etcd: Etcd,
    folder: PathBuf,
    /// Of the nodes, if they can be mounted.
    disks: Vec<Small>,
    /// From each node to each member of etcd.
    to_etcd: Vec<Vec<Proxy>>,
    /// From the other nodes to each node.
    links: Vec<(SocketAddr, Proxy)>,
    servers: Vec<Option<Server>>,
    /// The program of each node.
    programs: Vec<String>,
    /// `dedupe_seconds`.
    dedupe: u64,
    map: Arc<Map>,
}

/// Schedules a task on a route at a node, which no consumer gets during the test. Returns the reply.
fn ask(address: SocketAddr, number: usize) -> String {
    let Some(mut line) = Line::connect(address) else {
        return "nobody listens".to_owned();
    };
    line.send(&json!({
        "kind": "schedule",
        "route_key": route(number),
        "fire_at": now() + 86_400_000,
        "payload_base64": "",
    }));
    for _ in 0..10 {
        match line.next() {
            Came::Line(reply) => return reply.to_string(),
            Came::Nothing => {}
            Came::End => return "the connection has ended".to_owned(),
        }
    }
    "no reply".to_owned()
}

impl Nodes {
    pub(crate) fn start(folder: &Path, can_mount: bool) -> Self {
        Self::start_with([PROGRAM; NODES], folder, can_mount)
    }

    /// Starts nodes of these programs.
    pub(crate) fn start_with(programs: [&str; NODES], folder: &Path, can_mount: bool) -> Self {
        let etcd = Etcd::start(folder, 3, &[], "http");
        let members = etcd.addresses();
        let proxies = |_| members.iter().map(|to| Proxy::new(*to)).collect();
        let link = |_| {
            let address = loopback();
            (address, Proxy::new(address))
        };
        let mut nodes = Self {
            etcd,
            folder: folder.to_owned(),
            disks: match can_mount {
                true => (0..NODES).map(|_| Small::new(DISK)).collect(),
                false => Vec::new(),
            },
            to_etcd: (0..NODES).map(proxies).collect(),
            links: (0..NODES).map(link).collect(),
            servers: (0..NODES).map(|_| None).collect(),
            programs: programs.map(str::to_owned).to_vec(),
            dedupe: match programs == [PROGRAM; NODES] {
                true => 60,
                // An upgrade judges repeated removals, so no name is forgotten meanwhile.
                false => 3_600,
            },
            map: Arc::new(Map(Mutex::new(vec![Place::default(); NODES]))),
        };
        for node in 0..NODES {
            nodes.join(node);
        }
        for node in 0..NODES {
            nodes.run(node);
        }
        nodes
    }

    pub(crate) fn map(&self) -> Arc<Map> {
        self.map.clone()
    }

    /// The disk of a node.
    pub(crate) fn disk(&self, node: usize) -> Option<&Small> {
        self.disks.get(node)
    }

    fn folder(&self, node: usize) -> PathBuf {
        if let Some(disk) = self.disk(node) {
            return disk.path().to_owned();
        }
        let folder = self.folder.join(format!("node-{node}"));
        std::fs::create_dir_all(&folder).expect("the folder is writable");
        folder
    }

    fn config(&self, node: usize) -> serde_json::Value {
        let urls = self.to_etcd[node].iter();
        let urls: Vec<_> = urls
            .map(|proxy| format!("http://{}", proxy.address))
            .collect();
        json!({
            "bind_addr": "127.0.0.1:0",
            "http_addr": null,
            "ack_timeout_ms": 3_000,
            "retry_delay_ms": 100,
            "disk_reserve_mib": 64,
            "dedupe_seconds": self.dedupe,
            "cluster": {
                "etcd": urls,
                "node": format!("n{node}"),
                "advertise": self.links[node].1.address.to_string(),
                "bind_addr": self.links[node].0.to_string(),
                "lease_ms": LEASE.as_millis() as u64,
            },
        })
    }

    fn join(&self, node: usize) {
        println!("{}", self.command(&["join"], node).done().trim());
    }

    /// What this release says of the cluster.
    pub(crate) fn status(&self) -> serde_json::Value {
        let shown = self.command(&["status", "--json"], 0).stdout;
        serde_json::from_str(&shown).unwrap_or_else(|error| panic!("{error}: {shown}"))
    }

    fn command(&self, words: &[&str], node: usize) -> Ended {
        let config = self.folder(node).join("join.json");
        std::fs::write(&config, self.config(node).to_string()).expect("the folder is writable");
        let mut command = Command::new(PROGRAM);
        command
            .arg("cluster")
            .args(words)
            .arg("--config")
            .arg(config)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        process::run(&mut command, b"")
    }

    /// Starts a node, and waits until it listens.
    pub(crate) fn run(&mut self, node: usize) {
        let folder = self.folder(node);
        let start = Start::new(&self.programs[node], &folder);
        let server = start.config(self.config(node)).run();
        self.map.places()[node].address = Some(server.address);
        self.servers[node] = Some(server);
    }

    /// The node runs another program from its next start on.
    pub(crate) fn set_program(&mut self, node: usize, program: &str) {
        program.clone_into(&mut self.programs[node]);
    }

    pub(crate) fn kill(&mut self, node: usize) {
        self.map.places()[node].address = None;
        drop(self.servers[node].take());
    }

    /// Ends a node in order.
    pub(crate) fn end(&mut self, node: usize) {
        self.map.places()[node].address = None;
        if let Some(server) = self.servers[node].take() {
            server.signal("TERM");
            let (status, log) = server.ended();
            assert!(status.success(), "{log}");
        }
    }

    pub(crate) fn stop(&self, node: usize) {
        self.map.places()[node].is_stopped = true;
        self.signal(node, "STOP");
    }

    pub(crate) fn go_on(&self, node: usize) {
        self.signal(node, "CONT");
        let place = &mut self.map.places()[node];
        place.is_stopped = false;
        place.went_on = Some(Instant::now());
    }

    fn signal(&self, node: usize, name: &str) {
        self.server(node).signal(name);
    }

    /// The process of a node that runs.
    pub(crate) fn server(&self, node: usize) -> &Server {
        self.servers[node].as_ref().expect("the node runs")
    }

    /// The proxies between a node and etcd.
    pub(crate) fn to_etcd(&self, node: usize) -> &[Proxy] {
        &self.to_etcd[node]
    }

    /// The proxy between the other nodes and a node.
    pub(crate) fn link(&self, node: usize) -> &Proxy {
        &self.links[node].1
    }

    /// What the nodes say of themselves and answer to a schedule on some routes, and their logs.
    pub(crate) fn state(&self, routes: &[usize]) -> String {
        let mut state = String::new();
        for node in 0..NODES {
            let Ended { stdout, stderr, .. } = self.command(&["status"], node);
            state += &format!(
                "node {node}: {:?}\n{stdout}{stderr}\n",
                self.map.address(node)
            );
            for route in routes {
                let replies = self.map.address(node).map(|it| ask(it, *route));
                state += &format!("route {route}: {replies:?}\n");
            }
        }
        state + &self.logs()
    }

    /// The logs of the nodes that run.
    pub(crate) fn logs(&self) -> String {
        let servers = self.servers.iter().flatten();
        servers.map(|server| server.log() + "\n").collect()
    }
}
