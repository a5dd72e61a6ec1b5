#![cfg(unix)]

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

use crate::process::{PATIENCE, Server, lines, wait};

#[track_caller]
fn tell(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn a_server_ends_in_order_when_it_is_asked_to() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = Server::start("");
        server.run(&["schedule", "x", "--route", "a"]).done();
        tell(&server.child, signal);
        assert_eq!(wait(&mut server.child), Some(0));
        let log: Vec<_> = server.log.iter().collect();
        assert!(log.last().unwrap().contains("ended"), "{log:?}");
    }
}

#[test]
fn a_server_says_what_it_runs_on_and_without_colours() {
    let server = Server::start(r#","sync":"interval:50ms""#);
    let starting = &server.logged[0];
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
    assert!(!server.logged.concat().contains('\x1b'), "{starting}");
}

#[test]
fn a_server_warns_if_it_cannot_have_as_many_connections_as_it_may() {
    let server = Server::start(r#","max_connections":1000000"#);
    // A machine that allows a million files has nothing to warn of.
    let warned = server
        .logged
        .iter()
        .any(|line| line.contains("max_connections=1000000"));
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    assert_eq!(
        warned,
        limit.is_some_and(|limit| limit < 1_000_256),
        "{:?}",
        server.logged
    );
}

#[test]
fn who_listens_ends_in_order_when_asked_to() {
    let server = Server::start("");
    let mut child = server.program(&["listen", "a"]).spawn().unwrap();
    let printed = lines(child.stdout.take().unwrap());
    server.run(&["schedule", "x", "--route", "a"]).done();
    printed.recv_timeout(PATIENCE).unwrap();
    tell(&child, Signal::TERM);
    assert_eq!(wait(&mut child), Some(0));
}
