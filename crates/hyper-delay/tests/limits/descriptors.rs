#![cfg(target_os = "linux")]

use std::{fs, net::TcpStream};

use serde_json::{Value, json};
use testkit::{Peer, request::schedule};

use crate::server::Server;

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
fn with_64_open_files_tasks_go_on_while_hundreds_try_to_connect() {
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
    let log = server.log();
    let warning = "the limit of open files allows fewer than max_connections";
    assert!(log.contains(warning), "{log}");
}

#[test]
fn a_refused_connection_reads_that_the_limit_of_open_files_is_the_cause() {
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
