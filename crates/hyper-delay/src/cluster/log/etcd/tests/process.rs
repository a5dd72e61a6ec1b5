//! Processes of etcd.

use std::{
    fs::File,
    net::TcpListener,
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::cluster::log::{
    Log, Request,
    etcd::{
        Etcd,
        config::{EtcdConfig, EtcdTls},
    },
};

/// The calls of tests are given up after a quarter of it: long enough for a slow machine.
pub(super) const LEASE: Duration = Duration::from_secs(40);

/// The processes of an etcd cluster. They are killed when it is dropped.
pub(super) struct Processes {
    members: Vec<Member>,
    _folder: TempDir,
}

/// One member of an etcd cluster.
struct Member {
    command: Command,
    child: Child,
    url: String,
    log: std::path::PathBuf,
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

impl Member {
    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn spawn(command: &mut Command) -> Child {
        command.spawn().unwrap_or_else(|error| {
            panic!("etcd does not start ({error}): install Debian's package etcd-server")
        })
    }
}

/// Returns ports that are free now. Another process may take them before etcd does.
fn free_ports<const N: usize>() -> [u16; N] {
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

impl Processes {
    /// Starts one etcd.
    pub(super) async fn one() -> Self {
        Self::start(1, &[], "http").await
    }

    /// Starts a cluster of three.
    pub(super) async fn three() -> Self {
        Self::start(3, &[], "http").await
    }

    /// Starts a cluster, with further arguments.
    pub(super) async fn start(members: usize, arguments: &[&str], scheme: &str) -> Self {
        for _ in 0..5 {
            let mut processes = Self::try_start(members, arguments, scheme);
            if processes.are_up().await {
                return processes;
            }
        }
        panic!("etcd does not start, on five sets of ports");
    }

    fn try_start(members: usize, arguments: &[&str], scheme: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ports: Vec<[u16; 2]> = (0..members).map(|_| free_ports()).collect();
        let peer = |index: usize| format!("http://127.0.0.1:{}", ports[index][1]);
        let all: Vec<_> = (0..members)
            .map(|it| format!("{it}={}", peer(it)))
            .collect();
        let member = |index: usize| {
            let url = format!("{scheme}://127.0.0.1:{}", ports[index][0]);
            let log = folder.path().join(format!("{index}.log"));
            let (url_, peer) = (&*url, &*peer(index));
            let mut command = Command::new("etcd");
            // It refuses a variable that says the same as an argument.
            for (name, _) in std::env::vars_os() {
                if name.to_string_lossy().starts_with("ETCD_") {
                    command.env_remove(name);
                }
            }
            command
                .args(["--name", &index.to_string(), "--logger", "zap"])
                .args([
                    "--listen-client-urls",
                    url_,
                    "--advertise-client-urls",
                    url_,
                ])
                .args([
                    "--listen-peer-urls",
                    peer,
                    "--initial-advertise-peer-urls",
                    peer,
                ])
                .args(["--initial-cluster", &all.join(",")])
                .args([
                    "--snapshot-count",
                    "5000",
                    "--auto-compaction-mode",
                    "revision",
                ])
                .args(["--auto-compaction-retention", "1000"])
                .args(arguments)
                .arg("--data-dir")
                .arg(folder.path().join(index.to_string()))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(File::create(&log).unwrap());
            Member {
                child: Member::spawn(&mut command),
                command,
                url,
                log,
            }
        };
        Self {
            members: (0..members).map(member).collect(),
            _folder: folder,
        }
    }

    /// Waits until all members accept connections. `false`: one has ended.
    async fn are_up(&mut self) -> bool {
        let up = async {
            for member in &mut self.members {
                let address = member.url.split_once("//").unwrap().1;
                while tokio::net::TcpStream::connect(address).await.is_err() {
                    if member.child.try_wait().unwrap().is_some() {
                        return false;
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
            true
        };
        let up = tokio::time::timeout(testkit::PATIENCE, up).await;
        up.unwrap_or_else(|_| panic!("etcd does not listen: {}", self.output()))
    }

    fn output(&self) -> String {
        let logs = self.members.iter().map(|member| &member.log);
        logs.filter_map(|log| std::fs::read_to_string(log).ok())
            .collect()
    }

    pub(super) fn urls(&self) -> Vec<String> {
        self.members
            .iter()
            .map(|member| member.url.clone())
            .collect()
    }

    pub(super) fn config(&self) -> EtcdConfig {
        EtcdConfig {
            endpoints: self.urls(),
            tls: EtcdTls::default(),
            user: None,
            lease: LEASE,
        }
    }

    /// Returns the log, whose calls go to this member first.
    pub(super) fn log_at(&self, first: usize) -> Etcd {
        let mut config = self.config();
        config.endpoints.rotate_left(first);
        Etcd::new(&config).unwrap()
    }

    pub(super) fn log(&self) -> Etcd {
        self.log_at(0)
    }

    /// Waits until the cluster has a leader, and returns it.
    pub(super) async fn leader(&self) -> usize {
        self.answers(&self.log()).await;
        let mut members = self.members.iter().enumerate();
        for (index, member) in &mut members {
            let mut client = etcd_client::Client::connect([&member.url], None)
                .await
                .unwrap();
            let status = client.status().await.unwrap();
            if status.leader() == status.header().unwrap().member_id() {
                return index;
            }
        }
        // It has changed meanwhile.
        Box::pin(self.leader()).await
    }

    /// Waits until a call is answered.
    pub(super) async fn answers(&self, log: &Etcd) {
        crate::cluster::log::facts::until(async || log.call(Request::Charter).await.is_ok()).await;
    }

    pub(super) fn stop(&self, member: usize) {
        kill_process(self.members[member].pid(), Signal::STOP).unwrap();
    }

    pub(super) fn go_on(&self, member: usize) {
        kill_process(self.members[member].pid(), Signal::CONT).unwrap();
    }

    pub(super) fn kill(&mut self, member: usize) {
        let child = &mut self.members[member].child;
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub(super) fn restart(&mut self, member: usize) {
        let member = &mut self.members[member];
        member.child = Member::spawn(&mut member.command);
    }

    /// Returns a client of one member, for what the log does not do.
    pub(super) async fn client(&self) -> etcd_client::Client {
        let client = etcd_client::Client::connect([&self.members[0].url], None);
        client.await.unwrap()
    }
}
