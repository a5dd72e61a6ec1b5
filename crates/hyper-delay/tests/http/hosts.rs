use std::{fs, net::UdpSocket};

use serde_json::json;
use testkit::http;

use crate::server::Server;

fn with_host(server: &Server, host: &str) -> (u16, String) {
    let request = format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    let answer = http::ask(server.http, &request);
    (answer.status, answer.body)
}

#[test]
fn the_host_is_the_bound_address_or_localhost() {
    let server = Server::start(json!({}));
    let port = server.http.port();
    for host in [
        "localhost".to_owned(),
        "LOCALHOST:1".to_owned(),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1:{port}"),
    ] {
        assert_eq!(with_host(&server, &host).0, 200, "{host}");
    }
    for host in [
        "evil.example",
        "127.0.0.2",
        "localhost.evil.example",
        "[::1]",
        "",
    ] {
        let (status, body) = with_host(&server, host);
        assert_eq!(status, 403, "{host}");
        let cure = format!("Host is {host:?}, which is not in http_hosts: add it there\n");
        assert_eq!(body, cure);
    }
}

#[test]
fn a_request_has_one_host() {
    let server = Server::start(json!({}));
    for (request, status) in [
        ("GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n", 400),
        (
            "GET /healthz HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\nconnection: close\r\n\r\n",
            400,
        ),
        (
            "GET /healthz HTTP/1.1\r\nhost: \u{e4}\r\nconnection: close\r\n\r\n",
            400,
        ),
        // The host of a whole URL counts, too.
        (
            "GET http://evil.example/healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
            403,
        ),
        (
            "GET http://localhost/healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
            200,
        ),
    ] {
        let answer = http::ask(server.http, request);
        assert_eq!(answer.status, status, "{request}: {}", answer.body);
    }
    let old = http::connect(server.http);
    std::io::Write::write_all(&mut &old, b"GET /healthz HTTP/1.0\r\n\r\n").unwrap();
    let answer = http::rest(&old);
    assert!(answer.starts_with("HTTP/1.0 400 "), "{answer}");
}

#[test]
fn a_foreign_origin_is_refused() {
    let server = Server::start(json!({}));
    let own = format!("http://{}", server.http);
    let foreign = [
        "null",
        "http://evil.example",
        "http://localhost",
        "http://127.0.0.1:1",
    ];
    for path in ["/healthz", "/readyz", "/metrics"] {
        let origin = format!("origin: {own}\r\n");
        assert_eq!(http::get_with(server.http, path, &origin).status, 200);
        for origin in foreign {
            let header = format!("origin: {origin}\r\n");
            let answer = http::get_with(server.http, path, &header);
            assert_eq!(answer.status, 403, "{origin}");
            assert!(
                answer.body.starts_with(&format!("Origin is {origin:?}: ")),
                "{answer:?}"
            );
        }
    }
}

#[test]
fn http_hosts_replace_the_default_and_are_reloaded() {
    let server = Server::start(json!({"http_hosts": ["delay.example"]}));
    assert_eq!(with_host(&server, "delay.example:80").0, 200);
    assert_eq!(with_host(&server, "localhost").0, 403);
    let config = json!({
        "bind_addr": "127.0.0.1:0",
        "http_addr": "127.0.0.1:0",
        "sync": "never",
        "http_hosts": ["new.example"],
    });
    fs::write(server.directory().join("config.json"), config.to_string()).unwrap();
    server.signal("HUP");
    let line = server.logs("the configuration was reloaded");
    assert!(line.contains("http_hosts"), "{line}");
    assert_eq!(with_host(&server, "new.example").0, 200);
    assert_eq!(with_host(&server, "delay.example").0, 403);
    assert!(!server.log().contains("only after a restart"));
}

#[test]
fn hosts_that_are_not_allowed_get_no_answer() {
    let server = Server::start(json!({"allowed_hosts": ["10.255.255.1"]}));
    let stream = http::connect(server.http);
    let _ = std::io::Write::write_all(
        &mut &stream,
        b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n",
    );
    assert_eq!(http::rest(&stream), "");
    server.logs("refused: the host is not in allowed_hosts");
}

/// An address of this machine that is not of the loopback. Nothing is sent.
pub(crate) fn outer() -> Option<std::net::IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}

#[test]
fn metrics_are_for_this_machine_and_health_is_for_all() {
    let Some(outer) = outer() else {
        println!("NOTE: nothing is proved here: this machine has only the loopback");
        return;
    };
    let server = Server::start(json!({
        "http_addr": "0.0.0.0:0",
        "allowed_hosts": ["0.0.0.0/0"],
    }));
    let address = (outer, server.http.port()).into();
    assert_eq!(http::get(address, "/healthz").status, 200);
    assert_eq!(http::get(address, "/readyz").status, 200);
    let answer = http::get(address, "/metrics");
    assert_eq!(answer.status, 403);
    let cure = "the server answers programs on its machine: ask from 127.0.0.1 or ::1";
    assert!(answer.body.contains(cure), "{answer:?}");
    let local = ([127, 0, 0, 1], server.http.port()).into();
    assert_eq!(http::get(local, "/metrics").status, 200);
}
