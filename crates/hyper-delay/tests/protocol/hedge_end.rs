//! The end of hedged rounds without a winner, and late answers of losing copies.

use serde_json::json;
use testkit::{Peer, request::echo};

use crate::server::Server;

#[test]
fn a_round_without_an_answer_fails_and_the_next_one_starts() {
    let server = Server::start(json!({
        "hedge": {"a": 100}, "ack_timeout_ms": 400, "retry_delay_ms": 1, "max_retry_delay_ms": 1,
    }));
    let mut peers = [server.consumer("a"), server.consumer("a")];
    server.peer().due("a", "1");
    for attempt in 1..3 {
        for peer in &mut peers {
            assert_eq!(peer.delivery()["attempt"], attempt);
        }
    }
}

#[test]
fn a_failed_round_is_one_failure_however_many_copies_it_had() {
    let server = Server::start(json!({
        "hedge": {"a": 100}, "ack_timeout_ms": 400, "retry_delay_ms": 1, "max_attempts": 2,
    }));
    let mut peers = [
        server.consumer("a"),
        server.consumer("a"),
        server.consumer("a"),
    ];
    let mut producer = server.peer();
    producer.due("a", "1");
    producer.stats_until("a", |stats| stats["dead"] == 1);
    for peer in &mut peers {
        for attempt in 1..=2 {
            assert_eq!(peer.delivery()["attempt"], attempt);
        }
        peer.quiet();
    }
}

#[test]
fn a_round_ends_at_its_ack_timeout_even_if_consumers_are_left() {
    let server = Server::start(json!({
        "hedge": {"a": 600}, "ack_timeout_ms": 1000, "max_attempts": 1,
    }));
    let mut peers: Vec<Peer> = (0..3).map(|_| server.consumer("a")).collect();
    let mut producer = server.peer();
    producer.due("a", "1");
    producer.stats_until("a", |stats| stats["dead"] == 1);
    let copies = [peers[0].delivery(), peers[1].delivery()];
    peers[2].quiet();
    assert_eq!(copies[0], copies[1]);
    assert!(
        peers[1].removes(&copies[1]),
        "late, and still the same revision"
    );
}

#[test]
fn a_late_ack_of_any_copy_counts() {
    for place in [0, 1] {
        let server = Server::start(json!({
            "hedge": {"a": 100}, "ack_timeout_ms": 400, "max_attempts": 1,
        }));
        let mut peers = [server.consumer("a"), server.consumer("a")];
        let mut producer = server.peer();
        producer.due("a", "1");
        let copies = peers.each_mut().map(Peer::delivery);
        producer.stats_until("a", |stats| stats["dead"] == 1);
        assert!(peers[place].removes(&copies[place]));
        assert!(!peers[1 - place].removes(&copies[place]));
    }
}

#[test]
fn a_late_answer_with_the_id_alone_does_not_answer_the_next_revision() {
    let server = Server::start(json!({"hedge": {"a": 100}}));
    let mut loser = server.consumer("a");
    let mut winner = server.consumer("a");
    winner.due("a", "1");
    loser.delivery();
    let copy = winner.delivery();
    assert!(winner.removes(&copy));
    winner.ask(r#"{"kind":"unregister","route_key":"a"}"#);
    // The loser still works on its copy. Its answer must be ignored.
    winner.ask(&testkit::request::replace("a", "1", "bmV3"));
    loser.quiet();
    let acked = loser.ask(r#"{"kind":"ack","id":"1","confirm":true}"#);
    assert_eq!(acked["removed"], false);
    let new = loser.delivery();
    assert_eq!(
        (&new["payload_base64"], &new["attempt"]),
        (&json!("bmV3"), &json!(2))
    );
    assert!(loser.removes(&new));
}

#[test]
fn a_late_copy_on_another_connection_leaves_the_next_revision_in_flight() {
    let server = Server::start(json!({"ack_timeout_ms": 1000, "retry_delay_ms": 1}));
    let mut first = server.consumer("a");
    let mut second = server.consumer("a");
    second.due("a", "1");
    let late = first.delivery();
    second.delivery();
    assert!(first.removes(&late));
    first.ask(r#"{"kind":"unregister","route_key":"a"}"#);
    first.ask(&testkit::request::replace("a", "1", "bmV3"));
    let acked = second.ask(r#"{"kind":"ack","id":"1","confirm":true}"#);
    assert_eq!(acked["removed"], false);
    let new = second.delivery();
    second.send(echo("ack", &new));
    second.stats_until("a", |stats| stats["waiting"] == 0);
}
