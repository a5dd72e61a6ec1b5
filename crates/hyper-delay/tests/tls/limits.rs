use std::{
    io::{Read as _, Write as _},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::request::schedule;

use crate::{
    peer::{Options, Peer, tcp},
    server::Server,
};

#[test]
fn a_handshake_that_takes_too_long_is_cut_off_and_logged() {
    // Without `idle_timeout_seconds` the limit is 10 s.
    let server = Server::start_with(json!({"idle_timeout_seconds": 1}));
    let mut hello = Vec::new();
    Options::of(&server)
        .session()
        .write_tls(&mut hello)
        .unwrap();
    for sent in [0, 1, hello.len() / 2] {
        let mut stream = tcp(server.address);
        stream.write_all(&hello[..sent]).unwrap();
        let mut rest = Vec::new();
        let end = stream.read_to_end(&mut rest);
        // Closing a socket with unread bytes resets the connection.
        assert!(rest.is_empty(), "{rest:?} {end:?}");
    }
    let line = server.logs("no handshake within 1s");
    assert!(line.contains("WARN"), "{line}");
    assert!(line.contains("the TLS handshake failed"), "{line}");
}

#[test]
fn the_default_limit_of_a_handshake_is_ten_seconds() {
    let server = Server::start();
    let start = Instant::now();
    let mut stream = tcp(server.address);
    stream.write_all(&[22]).unwrap();
    let _ = stream.read(&mut [0]);
    assert!(start.elapsed() >= Duration::from_secs(9));
    server.logs("no handshake within 10s");
}

#[test]
fn a_handshake_that_is_not_complete_takes_a_slot() {
    let server = Server::start_with(json!({"max_connections": 1, "reserved_connections": 0}));
    let stuck = tcp(server.address);
    let mut refused = Peer::connect(&server);
    let error: Value = serde_json::from_str(&refused.line().unwrap()).unwrap();
    assert_eq!(error["code"], "too_many_connections");
    assert_eq!(refused.line(), None);
    drop(stuck);
    // The slot is free again.
    Peer::connect_when_free(&server);
}

#[test]
fn a_connection_without_a_byte_is_not_logged() {
    let server = Server::start();
    for _ in 0..10 {
        drop(tcp(server.address));
    }
    Peer::connect(&server).pings();
    assert!(!server.log().contains("handshake"), "{}", server.log());
}

#[test]
fn a_consumer_that_reads_late_gets_everything_and_delays_no_other() {
    /// Fills the buffers of a socket many times over.
    const LARGE: usize = 300;
    let server = Server::start();
    let mut producer = Peer::connect(&server);
    let mut late = Peer::connect(&server);
    let register = r#"{"kind":"register","route_key":"late","credit":1000}"#;
    assert_eq!(late.ask(register)["kind"], "registered");
    let payload = "A".repeat(60_000);
    for id in 0..LARGE {
        let line = schedule("late", &id.to_string(), 1);
        let line = line.replacen('{', &format!(r#"{{"payload_base64":"{payload}","#), 1);
        assert_eq!(producer.ask(&line)["kind"], "ack");
    }
    let mut other = Peer::connect(&server);
    other.pings();
    for id in 0..LARGE {
        let delivery: Value = serde_json::from_str(&late.line().unwrap()).unwrap();
        assert_eq!(delivery["id"], id.to_string());
        assert_eq!(delivery["payload_base64"], payload);
    }
}

#[test]
fn failures_are_logged_once_per_second_with_the_number_left_out() {
    const COUNT: usize = 50;
    let server = Server::start();
    let start = Instant::now();
    for _ in 0..COUNT {
        let mut stream = tcp(server.address);
        stream.write_all(b"{}\n").unwrap();
        stream.read_to_end(&mut Vec::new()).unwrap();
    }
    let seconds = usize::try_from(start.elapsed().as_secs()).unwrap();
    let log = server.log();
    let lines = log.lines().filter(|line| line.contains("handshake failed"));
    let lines = lines.count();
    assert!((1..=seconds + 2).contains(&lines), "{lines} in {seconds} s");
}

#[test]
fn a_server_that_stops_does_not_wait_for_handshakes() {
    let server = Server::start();
    let mut peer = Peer::connect(&server);
    peer.pings();
    let _stuck = tcp(server.address);
    server.signal("TERM");
    assert_eq!(peer.line(), None);
    server.logs("ended");
}
