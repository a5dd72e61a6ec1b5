//! Processes of etcd, and logs in them.

use std::{net::SocketAddr, path::Path, time::Duration};

use hyper_delay_etcd::{Client, Options};
use tempfile::TempDir;

use crate::log::{
    Log, LogRequest,
    etcd::{
        Etcd,
        config::{EtcdConfig, EtcdTls},
    },
};

/// The calls of tests are given up after a quarter of it: long enough for a slow machine.
pub(super) const LEASE: Duration = Duration::from_secs(40);

/// The processes of an etcd cluster. They are killed when it is dropped.
pub(super) struct Processes {
    etcd: testkit::Etcd,
    _folder: TempDir,
}

impl Processes {
    /// Starts one etcd. `None`: it is not installed, as for all that start some.
    pub(super) fn one() -> Option<Self> {
        Self::start(|folder| testkit::Etcd::start(folder, 1, &[], "http"))
    }

    /// Starts a cluster of three.
    pub(super) fn three() -> Option<Self> {
        Self::start(|folder| testkit::Etcd::start(folder, 3, &[], "http"))
    }

    /// Starts one etcd at this address, with TLS and the arguments for it.
    pub(super) fn with_tls(address: SocketAddr, arguments: &[&str]) -> Option<Self> {
        Self::start(|folder| testkit::Etcd::start_at(folder, &[address], arguments, "https"))
    }

    fn start(start: impl FnOnce(&Path) -> testkit::Etcd) -> Option<Self> {
        if !testkit::Etcd::is_installed() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        Some(Self {
            etcd: start(folder.path()),
            _folder: folder,
        })
    }

    pub(super) fn urls(&self) -> Vec<String> {
        self.etcd.urls()
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
        for (index, url) in self.urls().iter().enumerate() {
            let client = Client::connect(url, Options::new()).await.unwrap();
            if client.status().await.unwrap().is_leader() {
                return index;
            }
        }
        // It has changed meanwhile.
        Box::pin(self.leader()).await
    }

    /// Waits until a call is answered.
    pub(super) async fn answers(&self, log: &Etcd) {
        crate::log::contract::until(async || log.call(LogRequest::Charter).await.is_ok()).await;
    }

    pub(super) fn stop(&self, member: usize) {
        self.etcd.signal(member, "STOP");
    }

    pub(super) fn go_on(&self, member: usize) {
        self.etcd.signal(member, "CONT");
    }

    pub(super) fn kill(&mut self, member: usize) {
        self.etcd.kill(member);
    }

    pub(super) fn restart(&mut self, member: usize) {
        self.etcd.restart(member);
    }

    /// Returns a client of one member, for what the log does not do.
    pub(super) async fn client(&self) -> Client {
        let client = Client::connect(&self.urls()[0], Options::new()).await;
        client.unwrap()
    }

    /// Requires users from now on, and creates one.
    pub(super) fn require_users(&self, name: &str, password: &str) {
        self.etcd.require_users(name, password);
    }
}
