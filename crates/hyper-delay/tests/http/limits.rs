use std::{
    io::{Read as _, Write as _},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use testkit::{PATIENCE, http};

use crate::server::Server;

/// The most connections.
const CONNECTIONS: usize = 32;

#[test]
fn a_head_has_at_most_8_kibibytes() {
    let server = Server::start(json!({}));
    for (length, status) in [(7_900, 200), (8_300, 431), (100_000, 431)] {
        let header = format!("x: {}\r\n", "a".repeat(length));
        let answer = http::get_with(server.http, "/healthz", &header);
        assert_eq!(answer.status, status, "{length}");
    }
    let path = format!("/{}", "a".repeat(9_000));
    assert_eq!(server.get(&path).status, 431);
    assert_eq!(server.get("/readyz").status, 200);
}

/// The requests of these tests have a `host` and a `connection` of their own.
#[test]
fn a_head_has_at_most_100_headers() {
    let server = Server::start(json!({}));
    for (count, status) in [(98, 200), (99, 431), (500, 431)] {
        let answer = http::get_with(server.http, "/healthz", &"x: y\r\n".repeat(count));
        assert_eq!(answer.status, status, "{count}");
        assert_eq!(answer.body.is_empty(), status == 431, "{answer:?}");
    }
    assert_eq!(server.get("/readyz").status, 200);
}

#[test]
fn a_body_has_at_most_the_bytes_of_a_line() {
    let server = Server::start(json!({}));
    for (length, status) in [(0, 200), (65_536, 200), (65_537, 413), (u64::MAX / 2, 413)] {
        let header = format!("content-length: {length}\r\n");
        let answer = http::get_with(server.http, "/healthz", &header);
        assert_eq!(answer.status, status, "{length}");
    }
    let answer = http::get_with(server.http, "/healthz", "content-length: 65537\r\n");
    assert_eq!(
        answer.body,
        "the body has 65537 bytes: send at most 65536, or raise max_line_bytes\n"
    );
}

#[test]
fn what_is_no_http_is_refused() {
    let server = Server::start(json!({}));
    for bytes in ["{\"kind\":\"ping\"}\r\n\r\n", "GET\r\n\r\n", "\0\0\0\0"] {
        let answer = http::ask(server.http, bytes);
        assert_eq!(answer.status, 400, "{bytes:?}");
    }
    assert_eq!(server.get("/readyz").status, 200);
}

/// The server gives a head 10 seconds.
#[test]
fn slow_and_idle_connections_are_closed() {
    let server = Server::start(json!({}));
    let mut idle = http::connect(server.http);
    let mut kept = http::connect(server.http);
    kept.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .unwrap();
    let mut slow = http::connect(server.http);
    slow.set_nonblocking(true).unwrap();
    let start = Instant::now();
    let mut bytes = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: "
        .iter()
        .chain([b'a'; 1].iter().cycle());
    loop {
        assert!(start.elapsed() < PATIENCE, "the slow connection stays open");
        let byte = *bytes.next().unwrap();
        let is_sent = slow.write_all(&[byte]).is_ok();
        let is_closed = matches!(slow.read(&mut [0; 1024]), Ok(0));
        if !is_sent || is_closed {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    let mut rest = Vec::new();
    let _ = idle.read_to_end(&mut rest);
    assert!(rest.is_empty(), "{rest:?}");
    let answer = http::parse(&http::rest(&kept)).unwrap();
    assert_eq!(answer.body, "alive\n");
    assert!(start.elapsed() < PATIENCE);
    server.until(&[(r#"connections{listener="http"}"#, 1.0)]);
}

#[test]
fn beyond_the_most_connections_others_are_refused_and_slots_come_back() {
    let server = Server::start(json!({}));
    let mut open: Vec<_> = (0..CONNECTIONS)
        .map(|_| http::connect(server.http))
        .collect();
    let start = Instant::now();
    // Connections are accepted in their order, so this is one too many.
    let answer = http::parse(&http::rest(&http::connect(server.http))).unwrap();
    assert_eq!(answer.status, 503);
    let text = "there are 32 HTTP connections, as many as there may be: close some\n";
    assert_eq!(answer.body, text);
    assert_eq!(answer.header("retry-after"), Some("5"));
    server.logs("refused: too many connections are open");
    // The protocol is served meanwhile.
    server.peer().quiet();
    open.pop();
    while server.get("/healthz").status != 200 {
        assert!(start.elapsed() < PATIENCE, "the slot does not come back");
    }
}

#[test]
fn one_address_leaves_connections_for_others_and_for_this_machine() {
    let Some(outer) = crate::hosts::outer() else {
        println!("NOTE: nothing is proved here: this machine has only the loopback");
        return;
    };
    let server = Server::start(json!({
        "http_addr": "0.0.0.0:0",
        "allowed_hosts": ["0.0.0.0/0"],
        "open": true,
    }));
    let port = server.http.port();
    let most = (CONNECTIONS - CONNECTIONS / 4) / 2;
    let _open: Vec<_> = (0..most)
        .map(|_| http::connect((outer, port).into()))
        .collect();
    let refused = http::parse(&http::rest(&http::connect((outer, port).into()))).unwrap();
    assert_eq!(refused.status, 503);
    let text = "there are 12 HTTP connections from your address, which is its share: close some\n";
    assert_eq!(refused.body, text);
    let here = ([127, 0, 0, 1], port).into();
    for _ in 0..3 {
        assert_eq!(http::get(here, "/readyz").status, 200);
    }
}

#[test]
fn a_connection_answers_several_requests() {
    let server = Server::start(json!({}));
    let mut stream = http::connect(server.http);
    let request = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    stream.write_all(request.repeat(3).as_bytes()).unwrap();
    let last = "GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(last.as_bytes()).unwrap();
    let answers = http::rest(&stream);
    assert_eq!(answers.matches("HTTP/1.1 200 OK\r\n").count(), 4);
    assert_eq!(answers.matches("alive\n").count(), 3);
    assert!(answers.ends_with("ready\n"), "{answers}");
}
