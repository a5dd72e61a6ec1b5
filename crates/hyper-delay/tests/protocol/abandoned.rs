//! A server whose future is dropped.

use std::{
    io::Write,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use hyper_delay::{ServeError, config::Config};
use serde_json::json;
use testkit::{
    Peer,
    request::{later, schedule},
};
use tokio::{
    net::TcpListener,
    runtime::{self, Runtime},
    task::JoinHandle,
};

/// How long an abandoned server may use its directory: less than a connection that accepts no byte
/// stays open.
const PATIENCE: Duration = Duration::from_secs(15);

type Running = JoinHandle<Result<(), ServeError>>;

fn runtime() -> Runtime {
    let mut builder = runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build();
    runtime.expect("there is room for threads")
}

/// Starts a server as a task of the runtime, with a connection that waits to be accepted.
fn start(runtime: &Runtime, directory: &Path) -> (Running, Peer) {
    let config = json!({"data_dir": directory}).to_string();
    let config = Config::from_json("test", &config).expect("it is valid");
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"));
    let listener = listener.expect("there is a free port");
    let address = listener.local_addr().expect("it is bound");
    let peer = Peer::connect(address);
    let server = hyper_delay::run(listener, config, std::future::pending());
    (runtime.spawn(server), peer)
}

/// Drops the future of a server, and starts others until one serves its directory.
fn abandon_and_start_again(
    runtime: &Runtime,
    server: Running,
    directory: &Path,
) -> (Running, Peer) {
    server.abort();
    let ended = runtime.block_on(server).expect_err("its future is dropped");
    assert!(ended.is_cancelled(), "{ended}");
    let dropped = Instant::now();
    loop {
        let (server, mut peer) = start(runtime, directory);
        // A server that is refused its directory closes the connection.
        let _ = peer.stream().write_all(b"{\"kind\":\"ping\"}\n");
        if peer.line().is_some() {
            return (server, peer);
        }
        let refused = runtime.block_on(server).expect("it does not panic");
        let refused = refused.expect_err("it does not serve").to_string();
        assert!(refused.contains("another process"), "{refused}");
        assert!(dropped.elapsed() < PATIENCE, "the directory is still used");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn dropping_the_future_ends_its_threads_and_connections() {
    let directory = tempfile::tempdir().expect("there is room for a folder");
    let runtime = runtime();
    let (server, mut peer) = start(&runtime, directory.path());
    peer.plan("a", "1", later());
    let (_server, mut again) = abandon_and_start_again(&runtime, server, directory.path());
    assert_eq!(peer.line(), None);
    assert_eq!(again.stats("a")["waiting"], 1);
}

#[test]
fn dropping_the_future_does_not_wait_for_a_peer_that_reads_nothing() {
    /// Deliveries that fill the buffers of a socket many times over.
    const LARGE: usize = 300;
    let directory = tempfile::tempdir().expect("there is room for a folder");
    let runtime = runtime();
    let (server, mut stuck) = start(&runtime, directory.path());
    let address = stuck.stream().peer_addr().expect("it is connected");
    let mut producer = Peer::connect(address);
    let payload = "A".repeat(60_000);
    for id in 0..LARGE {
        let line = schedule("stuck", &id.to_string(), 1);
        let line = line.replacen('{', &format!(r#"{{"payload_base64":"{payload}","#), 1);
        assert_eq!(producer.ask(&line)["kind"], "ack");
    }
    // Registered last: no ack timeout passes, and the server gives up no write, however long the
    // tasks took to schedule.
    stuck.register_with("stuck", r#""credit":65535"#);
    let registered = Instant::now();
    while producer.stats("stuck")["in_flight"] != LARGE {
        assert!(registered.elapsed() < PATIENCE, "not all are in flight");
        thread::sleep(Duration::from_millis(10));
    }
    let (_server, mut again) = abandon_and_start_again(&runtime, server, directory.path());
    assert_eq!(again.stats("stuck")["parked"], LARGE);
    drop(stuck);
}
