//! A process of etcd.

use std::{
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// An etcd with one member. Killed when dropped.
pub(crate) struct Etcd {
    child: Child,
    url: String,
    _data: TempDir,
}

impl Etcd {
    /// Starts one, and waits until it accepts connections.
    pub(crate) fn start() -> Self {
        // Another process may take the ports before etcd does.
        let started = (0..5).find_map(|_| Self::try_start());
        started.expect("etcd ends at once, on five pairs of ports")
    }

    fn try_start() -> Option<Self> {
        let [client, peer] = free();
        let url = format!("http://{client}");
        let peer = format!("http://{peer}");
        let data = tempfile::tempdir().unwrap();
        let mut command = Command::new("etcd");
        // It refuses a variable that says the same as an argument.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ETCD_") {
                command.env_remove(name);
            }
        }
        command
            .args(["--name", "0", "--initial-cluster", &format!("0={peer}")])
            .args([
                "--listen-client-urls",
                &url,
                "--advertise-client-urls",
                &url,
            ])
            .args([
                "--listen-peer-urls",
                &peer,
                "--initial-advertise-peer-urls",
                &peer,
            ])
            .arg("--data-dir")
            .arg(data.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn().unwrap_or_else(|error| {
            panic!("etcd does not start ({error}): install Debian's package etcd-server")
        });
        let mut etcd = Self {
            child,
            url,
            _data: data,
        };
        etcd.is_up(client).then_some(etcd)
    }

    /// Waits until it accepts connections. `false`: it has ended.
    fn is_up(&mut self, address: SocketAddr) -> bool {
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            assert!(begun.elapsed() < testkit::PATIENCE, "etcd does not listen");
            thread::sleep(Duration::from_millis(20));
        }
        true
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// Returns addresses that are free now.
fn free() -> [SocketAddr; 2] {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap())
}
