#![cfg(target_os = "linux")]

use std::{
    fs,
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::{Value, json};
use testkit::{PATIENCE, Peer, request::schedule};

use crate::{logs::accounted, server::Server};

/// Far more than the limit of open files.
const ATTEMPTS: usize = 300;

/// Enough tasks of this size make the store write several sorted files and merge them.
const PAYLOAD: usize = 60_000;
const TASKS: usize = 400;

fn limited(files: u32) -> Server {
    let limit = format!(r#"ulimit -n {files}; exec "$@""#);
    Server::start_under(
        &["sh", "-c", &limit, "sh"],
        json!({"ack_timeout_ms": 3_600_000}),
    )
}

/// The lowest free file descriptor of the server. With this number as its limit, the server can
/// open no file.
fn first_free(server: &Server) -> u64 {
    let is_open = |file: &u64| fs::exists(format!("/proc/{}/fd/{file}", server.id()));
    let free = (0..).find(|file| !is_open(file).expect("the server runs"));
    free.expect("open files are finite")
}

/// Sets the soft limit of the server, and returns the old limits.
fn set_limit(server: &Server, current: Option<u64>, maximum: Option<u64>) -> Rlimit {
    let pid = i32::try_from(server.id()).ok().and_then(Pid::from_raw);
    prlimit(pid, Resource::Nofile, Rlimit { current, maximum }).expect("it is our own process")
}

fn open_files(server: &Server) -> usize {
    let files = fs::read_dir(format!("/proc/{}/fd", server.id()));
    files.expect("the server runs").count()
}

/// Schedules a large task, takes its delivery, and acknowledges it.
fn pass(producer: &mut Peer, consumer: &mut Peer, id: usize) {
    let payload = "A".repeat(PAYLOAD);
    let line = schedule("a", &id.to_string(), 1);
    let line = line.replacen('{', &format!(r#"{{"payload_base64":"{payload}","#), 1);
    assert_eq!(producer.ask(&line)["kind"], "ack");
    let delivery: Value = consumer.delivery();
    assert_eq!(delivery["id"], id.to_string());
    assert!(consumer.removes(&delivery));
}

#[test]
fn with_64_open_files_tasks_are_delivered_while_hundreds_try_to_connect() {
    let server = limited(64);
    let mut producer = server.peer();
    let mut consumer = server.consumer("a");
    let mut attackers = Vec::new();
    for id in 0..TASKS {
        if id < ATTEMPTS {
            let stream = TcpStream::connect(server.address).expect("the kernel accepts");
            attackers.push(stream);
        }
        pass(&mut producer, &mut consumer, id);
        let files = open_files(&server);
        assert!(files < 64, "{files} files are open");
    }
    let stats = producer.all_stats();
    let connections = stats["connections"].as_u64().expect("it is a number");
    assert!((3..=10).contains(&connections), "{connections}");
    drop(attackers);
    producer.until(Peer::all_stats, |stats| stats["connections"] == 2);
    server.consumer("b").quiet();
    server.logs("the limit of open files allows fewer than max_connections");
}

#[test]
fn the_error_of_a_refused_connection_names_the_limit_of_open_files() {
    let server = limited(64);
    let mut attackers: Vec<Peer> = (0..20).map(|_| server.peer()).collect();
    let messages: Vec<String> = attackers
        .iter_mut()
        .skip(10)
        .map(|refused| refused.kind("error")["message"].to_string())
        .collect();
    assert!(
        messages
            .iter()
            .all(|message| message.contains("as the limit of open files allows")),
        "{messages:?}"
    );
}

#[test]
fn accept_waits_while_no_descriptor_is_free_and_then_continues() {
    const KIND: &str = "a connection could not be accepted";
    /// The server's wait between two attempts, in milliseconds.
    const PAUSE: u128 = 200;
    let server = Server::start(json!({}));
    let mut open = server.peer();
    // The first commits of a server also clear the deduplication window of an earlier one.
    pass(&mut open, &mut server.consumer("a"), 0);
    let maximum = getrlimit(Resource::Nofile).maximum;
    // The store can open no file either, so this test sends no request that needs one.
    let before = set_limit(&server, Some(first_free(&server)), maximum);
    let start = Instant::now();
    let mut waiting = server.peer();
    waiting.send(r#"{"kind":"ping"}"#);
    // The second line of the log counts the attempts since the first.
    while accounted(&server.log(), KIND).1 < 2 {
        open.quiet();
        assert!(start.elapsed() < PATIENCE, "{}", server.log());
        thread::sleep(Duration::from_millis(10));
    }
    let attempts = accounted(&server.log(), KIND).0 as u128;
    // One attempt is immediate, and one follows the end of the consumer's connection.
    let most = start.elapsed().as_millis() / PAUSE + 3;
    assert!(attempts <= most, "{attempts} attempts instead of {most}");
    set_limit(&server, before.current, before.maximum);
    assert_eq!(waiting.kind("pong")["kind"], "pong");
}
