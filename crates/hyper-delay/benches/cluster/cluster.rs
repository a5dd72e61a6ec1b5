//! Three nodes and three members of etcd.

use std::{
    fs,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{Ended, Etcd, Server, Start, process};

use crate::Failure;

/// The program that is measured.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_hyper-delay");

/// How many nodes there are.
const NODES: usize = 3;

/// The processes. They are killed when it is dropped.
pub(crate) struct Cluster {
    nodes: Vec<Server>,
    pub(crate) etcd: Etcd,
    config: PathBuf,
}

impl Cluster {
    /// Starts it in this folder, and waits until all shards are led.
    pub(crate) fn start(folder: &Path) -> Result<Self, Failure> {
        let etcd = Etcd::start(folder, 3, &[], "http");
        let mut nodes = Vec::new();
        let config = folder.join("cluster.json");
        for number in 0..NODES {
            let directory = folder.join(format!("node-{number}"));
            fs::create_dir_all(&directory)?;
            let advertise = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
            let fields = json!({
                "disk_reserve_mib": 0,
                "cluster": {
                    "etcd": etcd.urls(),
                    "node": format!("n{number}"),
                    "advertise": advertise.to_string(),
                },
            });
            fs::write(&config, fields.to_string())?;
            command(&config, "join").done();
            nodes.push(Start::new(PROGRAM, &directory).config(fields).run());
        }
        let cluster = Self {
            nodes,
            etcd,
            config,
        };
        cluster.until_led()?;
        Ok(cluster)
    }

    fn until_led(&self) -> Result<(), Failure> {
        const PATIENCE: Duration = Duration::from_secs(60);
        let started = Instant::now();
        loop {
            let Ended { code, stderr, .. } = command(&self.config, "status");
            if code == Some(0) {
                return Ok(());
            }
            if started.elapsed() > PATIENCE {
                return Err(stderr.into());
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Where clients connect.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.nodes.iter().map(|node| node.address).collect()
    }

    /// The process ids of the nodes.
    pub(crate) fn nodes(&self) -> Vec<u32> {
        self.nodes.iter().map(Server::id).collect()
    }

    /// Returns how many entries the journals have had.
    pub(crate) fn entries(&self) -> Result<u64, Failure> {
        let status = command(&self.config, "status --json");
        let status: Value = serde_json::from_str(&status.stdout)?;
        let shards = status["shards"].as_array().ok_or("there are no shards")?;
        Ok(shards.iter().filter_map(|it| it["last"].as_u64()).sum())
    }
}

/// Runs `hyper-delay cluster` with these words.
fn command(config: &Path, words: &str) -> Ended {
    let mut command = Command::new(PROGRAM);
    command
        .arg("cluster")
        .args(words.split(' '))
        .arg("--config")
        .arg(config)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    process::run(&mut command, b"")
}
