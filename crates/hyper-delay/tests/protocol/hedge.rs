use serde_json::{Value, json};
use testkit::{
    Peer,
    request::{all, echo, echo_with, replace},
};

use crate::server::Server;

/// Copies are sent one after the other, by time.
fn hedged() -> Server {
    Server::start(json!({"hedge": {"a": 100}, "retry_delay_ms": 1}))
}

/// A copy is sent only after the one before it has failed.
fn patient() -> Server {
    Server::start(
        json!({"hedge": {"a*": 3_600_000}, "ack_timeout_ms": 7_200_000, "retry_delay_ms": 1}),
    )
}

fn both(server: &Server) -> ([Peer; 2], [Value; 2]) {
    let mut peers = [server.consumer("a"), server.consumer("a")];
    server.peer().due("a", "1");
    let copies = peers.each_mut().map(Peer::delivery);
    (peers, copies)
}

#[test]
fn the_second_consumer_gets_a_copy_when_the_first_is_silent() {
    let server = hedged();
    let ([_first, mut second], copies) = both(&server);
    assert_eq!(copies[0], copies[1], "they have the same attempt");
    let stats = second.stats("a");
    assert_eq!(
        (&stats["in_flight"], &stats["waiting"]),
        (&json!(1), &json!(1))
    );
    assert!(second.removes(&copies[1]));
}

#[test]
fn the_first_ack_wins_and_later_ones_are_unknown() {
    for winner in [0, 1] {
        let server = hedged();
        let (mut peers, copies) = both(&server);
        assert!(peers[winner].removes(&copies[0]));
        assert!(!peers[1 - winner].removes(&copies[0]));
        let stats = peers[0].all_stats();
        assert_eq!(
            (&stats["unknown_acks"], &stats["in_flight"]),
            (&json!(1), &json!(0))
        );
    }
}

#[test]
fn a_later_nack_of_a_loser_is_ignored() {
    let server = hedged();
    let ([mut first, mut second], copies) = both(&server);
    assert!(second.removes(&copies[1]));
    first.send(echo_with("nack", &copies[0], r#""delay_ms":0"#));
    first.quiet();
    assert_eq!(first.all_stats()["unknown_acks"], 1);
    assert_eq!(first.stats("a")["waiting"], 0);
}

#[test]
fn the_credit_of_the_losers_returns() {
    let server = hedged();
    let mut first = server.peer();
    first.register_with("a", r#""credit":1"#);
    let mut second = server.peer();
    second.register_with("a", r#""credit":1"#);
    let mut producer = server.peer();
    producer.due("a", "1");
    let copies = [first.delivery(), second.delivery()];
    producer.due("a", "2");
    first.quiet();
    assert!(second.removes(&copies[1]));
    // Both have room.
    let again = [first.delivery(), second.delivery()];
    assert_eq!(all(&again, "id"), ["2", "2"]);
}

#[test]
fn every_consumer_gets_a_copy_in_turn() {
    let server = hedged();
    let mut peers: Vec<Peer> = (0..4).map(|_| server.consumer("a")).collect();
    server.peer().due("a", "1");
    for peer in &mut peers {
        assert_eq!(peer.delivery()["attempt"], 1);
    }
    for peer in &mut peers {
        peer.quiet();
    }
}

#[test]
fn a_nack_of_the_latest_copy_sends_the_next_at_once() {
    let server = patient();
    let mut peers: Vec<Peer> = (0..3).map(|_| server.consumer("a")).collect();
    server.peer().due("a", "1");
    for peer in &mut peers[..2] {
        let delivery = peer.delivery();
        assert_eq!(delivery["attempt"], 1);
        peer.send(echo("nack", &delivery));
    }
    let last = peers[2].delivery();
    assert_eq!(last["attempt"], 1);
    assert!(peers[2].removes(&last));
}

#[test]
fn the_end_of_the_latest_connection_sends_the_next_copy_at_once() {
    let server = patient();
    let mut first = server.consumer("a");
    let mut second = server.consumer("a");
    second.due("a", "1");
    first.delivery();
    drop(first);
    let copy = second.delivery();
    assert_eq!(copy["attempt"], 1);
    assert!(second.removes(&copy));
}

#[test]
fn a_nack_of_one_copy_leaves_the_others_in_flight() {
    let server = hedged();
    let ([mut first, mut second], copies) = both(&server);
    first.send(echo("nack", &copies[0]));
    first.quiet();
    assert_eq!(first.stats("a")["in_flight"], 1);
    assert!(second.removes(&copies[1]));
    first.quiet();
}

#[test]
fn a_round_fails_when_every_copy_has_failed_and_no_consumer_is_left() {
    let server = patient();
    let mut peers = [server.consumer("a"), server.consumer("a")];
    server.peer().due("a", "1");
    // The consumer that failed the task last comes last.
    for (attempt, order) in [(1, [0, 1]), (2, [0, 1]), (3, [0, 1])] {
        for place in order {
            let delivery = peers[place].delivery();
            assert_eq!(delivery["attempt"], attempt);
            peers[place].send(echo_with("nack", &delivery, r#""delay_ms":0"#));
        }
    }
    assert_eq!(peers[0].delivery()["attempt"], 4);
}

#[test]
fn a_single_consumer_is_served_as_without_hedging() {
    let server = patient();
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    for attempt in 1..4 {
        let delivery = peer.delivery();
        assert_eq!(delivery["attempt"], attempt);
        peer.send(echo_with("nack", &delivery, r#""delay_ms":0"#));
    }
    let delivery = peer.delivery();
    assert!(peer.removes(&delivery));
}

#[test]
fn a_consumer_that_registers_in_time_gets_a_copy() {
    let server = patient();
    let mut first = server.consumer("a");
    first.due("a", "1");
    let copy = first.delivery();
    let mut second = server.consumer("a");
    first.send(echo("nack", &copy));
    assert_eq!(second.delivery()["attempt"], 1);
}

#[test]
fn acks_of_copies_of_an_older_revision_remove_nothing() {
    let server = hedged();
    let ([mut first, mut second], copies) = both(&server);
    first.ask(&replace("a", "1", "bmV3"));
    assert!(!first.removes(&copies[0]));
    assert!(!second.removes(&copies[1]));
    let new = [first.delivery(), second.delivery()];
    assert_eq!(all(&new, "payload_base64"), ["bmV3", "bmV3"]);
    assert_eq!(new[0]["attempt"], 2);
    assert!(second.removes(&new[1]));
}

#[test]
fn a_hedged_task_in_flight_is_cancelled() {
    let server = hedged();
    let ([mut first, mut second], copies) = both(&server);
    let reply = first.ask(r#"{"kind":"cancel","id":"1","route_key":"a"}"#);
    assert_eq!(
        (&reply["found"], &reply["in_flight"]),
        (&json!(true), &json!(true))
    );
    assert!(!first.removes(&copies[0]));
    second.send(echo("nack", &copies[1]));
    second.quiet();
    assert_eq!(second.stats("a")["waiting"], 0);
}
