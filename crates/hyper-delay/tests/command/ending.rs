#![cfg(unix)]

use serde_json::json;
use testkit::{
    PATIENCE,
    process::{lines, signal, wait},
};

use crate::process::Server;

#[test]
fn a_server_ends_in_order_when_it_is_asked_to() {
    for signal in ["TERM", "INT"] {
        let server = Server::start(json!({}));
        server.run(&["schedule", "x", "--route", "a"]).done();
        server.running.signal(signal);
        let (status, log) = server.running.ended();
        assert_eq!(status.code(), Some(0));
        assert!(log.lines().last().unwrap().contains("ended"), "{log}");
    }
}

#[test]
fn a_server_says_what_it_runs_on_and_without_colours() {
    let server = Server::start(json!({"sync": "interval:50ms"}));
    let log = server.running.log();
    let starting = log.lines().next().unwrap();
    for part in [
        "INFO",
        "starting",
        concat!("version=\"", env!("CARGO_PKG_VERSION"), "\""),
        "configuration=./config.json",
        "data_dir=data/db",
        "sync=interval:50ms",
    ] {
        assert!(starting.contains(part), "{starting}");
    }
    assert!(!log.contains('\x1b'), "{log}");
}

#[test]
fn a_server_warns_if_it_cannot_have_as_many_connections_as_it_may() {
    let server = Server::start(json!({"max_connections": 1_000_000}));
    // A machine that allows a million files has nothing to warn of.
    let log = server.running.log();
    let warned = log.contains("max_connections=1000000");
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    assert_eq!(
        warned,
        limit.is_some_and(|limit| limit < 1_000_256),
        "{log}"
    );
}

#[test]
fn who_listens_ends_in_order_when_asked_to() {
    let server = Server::start(json!({}));
    let mut child = server.program(&["listen", "a"]).spawn().unwrap();
    let printed = lines(child.stdout.take().unwrap());
    server.run(&["schedule", "x", "--route", "a"]).done();
    printed.recv_timeout(PATIENCE).unwrap();
    signal(&child, "TERM");
    assert_eq!(wait(&mut child).code(), Some(0));
}
