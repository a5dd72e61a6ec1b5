use serde_json::json;
use testkit::{
    Peer,
    request::{later, schedule},
};

use crate::server::Server;

fn hello(protocol: u64) -> String {
    format!(r#"{{"kind":"hello","protocol":{protocol}}}"#)
}

fn agreed(protocol: u64) -> String {
    let server = concat!("hyper-delay ", env!("CARGO_PKG_VERSION"));
    format!(r#"{{"kind":"hello","protocol":{protocol},"server":"{server}"}}"#)
}

/// The kind of the reply to a schedule.
fn receipt(peer: &mut Peer) -> String {
    let reply = peer.ask(&schedule("a", "1", 1_000_000_000_000));
    assert_eq!(reply["id"], "1", "{reply}");
    reply["kind"].as_str().expect("a kind").to_owned()
}

#[test]
fn the_reply_names_the_version_and_the_server() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    for (wanted, spoken) in [(1, 1), (2, 2), (3, 2), (1 << 53, 2)] {
        peer.exact(&hello(wanted), &agreed(spoken));
    }
    peer.exact(
        r#"{"tag":"t","protocol":2,"kind":"hello"}"#,
        &agreed(2).replace('}', r#","tag":"t"}"#),
    );
}

#[test]
fn a_connection_without_hello_speaks_version_1() {
    let server = Server::start(json!({}));
    let (mut old, mut new) = (server.peer(), server.peer());
    new.exact(&hello(2), &agreed(2));
    assert_eq!(receipt(&mut old), "ack");
    assert_eq!(receipt(&mut new), "scheduled");
    assert_eq!(receipt(&mut old), "ack");
}

#[test]
fn a_later_hello_changes_the_version() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    for (protocol, kind) in [(2, "scheduled"), (1, "ack"), (2, "scheduled")] {
        peer.exact(&hello(protocol), &agreed(protocol));
        assert_eq!(receipt(&mut peer), kind);
    }
}

#[test]
fn the_version_changes_exactly_at_the_hello_reply() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let (count, at) = (200, later());
    for id in 0..count {
        if id == count / 2 {
            peer.send(hello(2));
        }
        peer.send(schedule("a", &id.to_string(), at));
    }
    peer.finish_writing();
    let kinds: Vec<_> = peer
        .rest()
        .iter()
        .map(|line| line["kind"].clone())
        .collect();
    let place = kinds.iter().position(|kind| kind == "hello");
    let (before, after) = kinds.split_at(place.expect("a reply to hello"));
    assert_eq!(kinds.len(), count + 1);
    assert!(before.iter().all(|kind| kind == "ack"), "{kinds:?}");
    assert!(
        after[1..].iter().all(|kind| kind == "scheduled"),
        "{kinds:?}"
    );
    assert!(after.len() > count / 2, "{kinds:?}");
}

#[test]
fn only_the_reply_to_schedule_changes_with_version_2() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.exact(&hello(2), &agreed(2));
    peer.send(schedule("a", "1", 1));
    assert_eq!(peer.kind("scheduled")["fire_at"], 1);
    let delivery = peer.delivery();
    assert!(peer.removes(&delivery));
    peer.quiet();
}

#[test]
fn a_hello_without_a_valid_version_is_refused_and_changes_nothing() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.exact(&hello(2), &agreed(2));
    for protocol in ["0", "-1", "1.0", r#""1""#, "9007199254740993"] {
        let line = format!(r#"{{"kind":"hello","protocol":{protocol}}}"#);
        assert_eq!(peer.code(&line), "bad_field", "{line}");
    }
    assert_eq!(peer.code(r#"{"kind":"hello"}"#), "missing_field");
    assert_eq!(receipt(&mut peer), "scheduled");
}
