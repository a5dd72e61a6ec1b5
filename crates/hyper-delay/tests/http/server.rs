use std::{
    net::SocketAddr,
    ops::Deref,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{
    PATIENCE, Peer, Start,
    http::{self, Answer},
};

use crate::exposition::Exposition;

/// A server with its own directory and an HTTP listener. Dropping it kills the server and removes
/// the directory.
pub(crate) struct Server {
    running: testkit::Server,
    pub(crate) http: SocketAddr,
    directory: TempDir,
}

impl Server {
    /// Starts a server with these fields of the configuration. Nothing is synced.
    #[track_caller]
    pub(crate) fn start(config: Value) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), config)
    }

    /// Starts a server in a directory.
    #[track_caller]
    pub(crate) fn start_in(directory: TempDir, config: Value) -> Self {
        let running = Start::new(env!("CARGO_BIN_EXE_hyper-delay"), directory.path())
            .config(json!({"http_addr": "127.0.0.1:0", "sync": "never"}))
            .config(config)
            .run();
        Self {
            http: running.http(),
            running,
            directory,
        }
    }

    pub(crate) fn directory(&self) -> &std::path::Path {
        self.directory.path()
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Answer {
        http::get(self.http, path)
    }

    /// The metrics.
    #[track_caller]
    pub(crate) fn scrape(&self) -> Exposition {
        let answer = self.get("/metrics");
        assert_eq!(answer.status, 200, "{answer:?}");
        Exposition::parse(&answer.body)
    }

    /// Waits until these samples have these values. Returns the metrics.
    #[track_caller]
    pub(crate) fn until(&self, expected: &[(&str, f64)]) -> Exposition {
        let start = Instant::now();
        loop {
            let metrics = self.scrape();
            // A route has samples once it has tasks.
            let is =
                |(name, value): &(&str, f64)| metrics.has(name) && metrics.value(name) == *value;
            if expected.iter().all(is) {
                return metrics;
            }
            if start.elapsed() > PATIENCE {
                for (name, value) in expected {
                    assert_eq!(metrics.value(name), *value, "{name}");
                }
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Deref for Server {
    type Target = testkit::Server;

    fn deref(&self) -> &testkit::Server {
        &self.running
    }
}

/// Sends many schedules, and waits until all are on disk.
#[track_caller]
pub(crate) fn schedule_all(peer: &mut Peer, schedules: impl IntoIterator<Item = String>) {
    let schedules: Vec<String> = schedules.into_iter().collect();
    for part in schedules.chunks(200) {
        let tags: Vec<String> = part.iter().map(|line| peer.ask_later(line)).collect();
        for tag in tags {
            assert_eq!(peer.answer(&tag)["kind"], "ack");
        }
    }
}
