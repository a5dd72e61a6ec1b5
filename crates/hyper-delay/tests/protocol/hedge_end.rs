//! The end of hedged rounds without a winner, and late answers of losing copies.

use serde_json::{Value, json};
use testkit::{Peer, request::echo};

use crate::{
    deliveries::{ACK_TIMEOUTS, hold, received},
    server::Server,
};

/// A copy is sent only after the one before it has failed.
fn patient() -> Value {
    json!({
        "hedge": {"a": 3_600_000}, "ack_timeout_ms": 7_200_000, "retry_delay_ms": 1,
        "max_retry_delay_ms": 1,
    })
}

/// Schedules a due task with an ack timeout.
fn hurried(producer: &mut Peer, ack_timeout: u64) {
    let reply = producer.ask(&format!(
        r#"{{"kind":"schedule","route_key":"a","id":"1","fire_at":1,"ack_timeout_ms":{ack_timeout}}}"#
    ));
    assert_eq!(reply["kind"], "ack", "{reply}");
}

#[test]
fn a_round_without_an_answer_fails_and_the_next_one_starts() {
    let server = Server::start(json!({
        "hedge": {"a": 1}, "ack_timeout_ms": 400, "retry_delay_ms": 1, "max_retry_delay_ms": 1,
    }));
    let mut peers = [server.consumer("a"), server.consumer("a")];
    server.peer().due("a", "1");
    // On a slow machine a round can end before its copies are sent.
    for peer in &mut peers {
        peer.find(|line| line["kind"] == "delivery" && line["attempt"].as_u64() >= Some(2));
    }
}

#[test]
fn a_failed_round_is_one_failure_however_many_copies_it_had() {
    let mut config = patient();
    config["max_attempts"] = json!(2);
    let server = Server::start(config);
    let mut peers = [server.consumer("a"), server.consumer("a")];
    let mut producer = server.peer();
    producer.due("a", "1");
    for attempt in 1..=2 {
        for peer in &mut peers {
            let copy = peer.delivery();
            assert_eq!(copy["attempt"], attempt);
            peer.send(echo("nack", &copy));
        }
    }
    producer.stats_until("a", |stats| stats["dead"] == 1);
    for peer in &mut peers {
        peer.quiet();
    }
}

#[test]
fn a_round_ends_at_its_ack_timeout_even_if_consumers_are_left() {
    let ends = |ack_timeout| {
        let mut config = patient();
        config["max_attempts"] = json!(1);
        let server = Server::start(config);
        let mut peers: Vec<Peer> = (0..3).map(|_| server.consumer("a")).collect();
        let mut producer = server.peer();
        hurried(&mut producer, ack_timeout);
        producer.stats_until("a", |stats| stats["dead"] == 1);
        let Some(copy) = received(&mut peers[0]).pop() else {
            return false;
        };
        for peer in &mut peers {
            peer.quiet();
        }
        assert!(peers[0].removes(&copy), "late, and still the same revision");
        true
    };
    assert!(ACK_TIMEOUTS.into_iter().any(ends), "no copy is sent");
}

#[test]
fn a_late_ack_of_any_copy_counts() {
    let counts = |ack_timeout: u64| {
        let server = Server::start(json!({
            "hedge": {"a": 1}, "ack_timeout_ms": ack_timeout, "max_attempts": 1,
        }));
        let mut peers = [server.consumer("a"), server.consumer("a")];
        let mut producer = server.peer();
        for id in ["0", "1"] {
            producer.due("a", id);
        }
        producer.stats_until("a", |stats| stats["dead"] == 2);
        let copies = peers.each_mut().map(received);
        if copies.iter().any(|copies| copies.len() < 2) {
            return false;
        }
        for (place, id) in ["0", "1"].into_iter().enumerate() {
            let copy = copies[place].iter().find(|copy| copy["id"] == id);
            let copy = copy.expect("it has a copy of each");
            assert!(peers[place].removes(copy));
            assert!(!peers[1 - place].removes(copy));
        }
        true
    };
    assert!(ACK_TIMEOUTS.into_iter().any(counts), "a copy is not sent");
}

#[test]
fn a_late_answer_with_the_id_alone_does_not_answer_the_next_revision() {
    let server = Server::start(json!({"hedge": {"a": 1}, "ack_timeout_ms": 3_600_000}));
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
    let server = Server::start(json!({"ack_timeout_ms": 3_600_000, "retry_delay_ms": 1}));
    let mut first = server.consumer("a");
    let mut second = server.consumer("a");
    hurried(&mut second, 300);
    let late = first.delivery();
    hold(&mut second);
    assert!(first.removes(&late));
    first.ask(r#"{"kind":"unregister","route_key":"a"}"#);
    first.ask(&testkit::request::replace("a", "1", "bmV3"));
    let acked = second.ask(r#"{"kind":"ack","id":"1","confirm":true}"#);
    assert_eq!(acked["removed"], false);
    let new = second.delivery();
    assert_eq!(new["payload_base64"], "bmV3");
    second.send(echo("ack", &new));
    second.stats_until("a", |stats| stats["waiting"] == 0);
}
