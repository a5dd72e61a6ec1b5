use serde_json::{Value, json};
use testkit::{
    Peer,
    request::{echo, echo_with, later, replace, schedule},
};

use crate::server::Server;

/// Asserts that the new revision arrives with this attempt and can be acknowledged.
fn comes(peer: &mut Peer, attempt: u64) {
    let new = peer.delivery();
    assert_eq!(
        (&new["payload_base64"], &new["attempt"]),
        (&json!("bmV3"), &json!(attempt)),
        "{new}"
    );
    assert!(peer.removes(&new));
    peer.quiet();
}

fn replaced(peer: &mut Peer) {
    let ack: Value = peer.ask(&replace("a", "1", "bmV3"));
    assert_eq!((&ack["kind"], &ack["fire_at"]), (&json!("ack"), &json!(1)));
}

#[test]
fn replacing_an_unknown_task_schedules_it() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    replaced(&mut peer);
    comes(&mut peer, 1);
}

#[test]
fn a_waiting_task_is_replaced() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.plan("a", "1", later());
    replaced(&mut peer);
    comes(&mut peer, 1);
}

#[test]
fn a_parked_task_is_replaced() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.due("a", "1");
    peer.stats_until("a", |stats| stats["parked"] == 1);
    replaced(&mut peer);
    peer.register("a");
    comes(&mut peer, 1);
}

#[test]
fn a_task_in_flight_is_replaced_and_its_attempts_continue() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let old = peer.delivery();
    replaced(&mut peer);
    peer.quiet();
    assert!(!peer.removes(&old));
    comes(&mut peer, 2);
}

#[test]
fn a_new_revision_goes_to_another_connection_at_once() {
    let server = Server::start(json!({}));
    let mut first = server.consumer("a");
    let mut second = server.consumer("a");
    second.due("a", "1");
    let old = first.delivery();
    replaced(&mut first);
    comes(&mut second, 2);
    assert!(!first.removes(&old));
}

#[test]
fn a_task_given_back_is_replaced_and_its_attempts_continue() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    for attempt in 1..4 {
        let old = peer.delivery();
        assert_eq!(old["attempt"], attempt);
        let delay = if attempt == 3 { 3_600_000 } else { 0 };
        peer.send(echo_with("nack", &old, &format!(r#""delay_ms":{delay}"#)));
    }
    replaced(&mut peer);
    comes(&mut peer, 4);
}

#[test]
fn a_dead_task_is_replaced_with_all_its_attempts() {
    let server = Server::start(json!({"max_attempts": 2, "retry_delay_ms": 1}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    for _ in 0..2 {
        let old = peer.delivery();
        peer.send(echo("nack", &old));
    }
    peer.stats_until("a", |stats| stats["dead"] == 1);
    replaced(&mut peer);
    let third = peer.delivery();
    peer.send(echo("nack", &third));
    comes(&mut peer, 4);
    assert_eq!(peer.stats("a")["dead"], 0);
}

#[test]
fn replacing_with_the_same_content_changes_nothing() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    for _ in 0..2 {
        replaced(&mut peer);
    }
    let delivery = peer.delivery();
    replaced(&mut peer);
    peer.quiet();
    assert!(peer.removes(&delivery));
    replaced(&mut peer);
    peer.quiet();
}

#[test]
fn a_revision_is_due_at_its_own_time() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let old = peer.delivery();
    let at = later();
    let line = schedule("a", "1", at).replacen('{', r#"{"replace":true,"#, 1);
    assert_eq!(peer.ask(&line)["fire_at"], at);
    assert!(!peer.removes(&old));
    peer.quiet();
    assert_eq!(peer.stats("a")["waiting"], 1);
}

#[test]
fn a_replacement_right_after_its_schedule_is_delivered_without_an_answer_to_the_first() {
    let server = Server::start(json!({"ack_timeout_ms": 3_600_000}));
    let mut peer = server.consumer("a");
    for id in 0..50 {
        let id = id.to_string();
        let first = peer.ask_later(&schedule("a", &id, 1));
        let second = peer.ask_later(&replace("a", &id, "bmV3"));
        assert_eq!(peer.answer(&first)["kind"], "ack");
        assert_eq!(peer.answer(&second)["kind"], "ack");
        let mut delivery = peer.delivery();
        // The first delivery may or may not be sent before the replacement.
        if delivery["payload_base64"] == "" {
            assert!(!peer.removes(&delivery));
            delivery = peer.delivery();
        }
        assert_eq!(
            (&delivery["id"], &delivery["payload_base64"]),
            (&json!(id), &json!("bmV3"))
        );
        assert!(peer.removes(&delivery));
    }
}
