use std::time::{Duration, Instant};

use serde_json::json;
use testkit::request::{later, schedule};

use crate::server::{ALL, Server, auth, authenticate, with_token};

/// A schedule with a payload of this length in base64.
fn long(length: usize) -> String {
    let payload = format!(r#"{{"payload_base64":"{}","#, "A".repeat(length));
    schedule("mail", "long", later()).replacen('{', &payload, 1)
}

#[test]
fn lines_are_short_before_authentication() {
    let (server, [token]) = Server::with([ALL]);
    let mut peer = server.peer();
    peer.send(long(4_096));
    let error = peer.kind("error");
    assert_eq!(error["code"], "line_too_long");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("4096 bytes") && message.contains("send auth first"),
        "{message}"
    );
    // A token in such a line would not help.
    peer.send(with_token(&long(4_096), &token));
    assert_eq!(peer.kind("error")["code"], "line_too_long");
    // In one write: the line after the token is as long as any other may be.
    peer.raw(format!("{}\n{}\n", auth(&token), long(60_000)));
    assert_eq!(peer.kind("authenticated")["name"], "token 1");
    assert_eq!(peer.kind("ack")["id"], "long");
    let raw = server.peer();
    raw.raw("x".repeat(5_000));
    let mut raw = raw;
    assert_eq!(raw.kind("error")["code"], "line_too_long", "before its end");
}

#[test]
fn connections_that_do_not_authenticate_are_closed() {
    let (server, [token]) = Server::with([ALL]);
    let mut known = server.peer_with(&token);
    let start = Instant::now();
    let mut unknown = server.peer();
    let mut silent = server.peer();
    for _ in 0..5 {
        unknown.send(r#"{"kind":"ping"}"#);
    }
    for peer in [&mut unknown, &mut silent] {
        let error = peer.kind("error");
        assert_eq!(error["code"], "forbidden");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("within 10 seconds"), "{message}");
        assert!(peer.rest().iter().all(|line| line["kind"] == "pong"));
        assert!(
            start.elapsed() >= Duration::from_secs(9),
            "{:?}",
            start.elapsed()
        );
    }
    known.quiet();
}

#[test]
fn pipelined_wrong_tokens_do_not_extend_the_time() {
    let (server, [_]) = Server::with([ALL]);
    let mut peer = server.peer();
    let guess = format!("{}\n", auth("guess"));
    peer.raw(guess.repeat(100));
    let lines = peer.rest();
    // 0.1 + 0.2 + 0.4 + 0.8 + 1.6 + 3.2 + 5 seconds pass before the seventh is refused.
    assert!(lines.len() <= 9, "{lines:?}");
    let last = lines.last().unwrap();
    assert!(
        last["message"]
            .as_str()
            .unwrap()
            .contains("within 10 seconds"),
        "{last}"
    );
}

#[test]
fn quarter_of_the_connections_may_be_unauthenticated() {
    let config = json!({"max_connections": 8, "reserved_connections": 0});
    let (server, [token]) = Server::configured(config, [ALL]);
    let mut first = server.peer();
    let mut second = server.peer();
    first.quiet();
    second.quiet();
    let error = server.peer().kind("error");
    assert_eq!(error["code"], "too_many_connections");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("2 connections have not authenticated"),
        "{message}"
    );
    authenticate(&mut first, &token);
    let mut third = server.peer();
    third.quiet();
    authenticate(&mut second, &token);
    authenticate(&mut third, &token);
    for _ in 0..5 {
        let mut peer = server.peer_with(&token);
        peer.quiet();
        std::mem::forget(peer);
    }
    let error = server.peer().kind("error");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("is max_connections"),
        "{error}"
    );
}

#[test]
fn operators_of_this_machine_are_not_locked_out_by_unauthenticated_connections() {
    let (server, [token]) = Server::configured(json!({"max_connections": 4}), [ALL]);
    let mut stranger = server.peer();
    stranger.quiet();
    let mut operator = server.peer_with(&token);
    assert_eq!(operator.all_stats()["kind"], "stats");
}
