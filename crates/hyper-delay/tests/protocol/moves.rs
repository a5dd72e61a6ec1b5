//! `run_now` and `reschedule`.

use serde_json::{Value, json};
use testkit::{
    Peer,
    request::{echo, echo_with, later, schedule},
};

use crate::server::Server;

const RUN_NOW: &str = r#"{"kind":"run_now","id":"1","route_key":"a"}"#;

fn reschedule(due: u64) -> String {
    format!(r#"{{"kind":"reschedule","id":"1","route_key":"a","due":{due}}}"#)
}

/// Sends a move. Returns whether the task was found, and when it is due.
fn moved(peer: &mut Peer, line: &str) -> (bool, Option<u64>) {
    let reply = peer.ask(line);
    assert_eq!(reply["kind"], "moved", "{reply}");
    assert_eq!(reply["moved"], reply["due"].is_u64(), "{reply}");
    (
        reply["found"].as_bool().expect("it is a flag"),
        reply["due"].as_u64(),
    )
}

fn task(peer: &mut Peer) -> Value {
    peer.ask(r#"{"kind":"get","id":"1","route_key":"a"}"#)
}

#[test]
fn a_waiting_task_is_run_now_and_is_the_same_task() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    let at = later();
    peer.plan("a", "1", at);
    let (found, due) = moved(&mut peer, RUN_NOW);
    assert!(found && due.unwrap() < at);
    let delivery = peer.delivery();
    assert_eq!(
        (&delivery["fire_at"], &delivery["attempt"]),
        (&json!(at), &json!(1))
    );
    assert!(peer.removes(&delivery));
    assert_eq!(moved(&mut peer, RUN_NOW), (false, None));
    peer.quiet();
}

#[test]
fn a_task_is_rescheduled_and_the_same_schedule_changes_nothing() {
    let server = Server::start(json!({"sync": "always"}));
    let mut peer = server.consumer("a");
    let (at, later) = (later(), later() + 7_000);
    peer.plan("a", "1", at);
    let line = format!(
        r#"{{"kind":"moved","id":"1","route_key":"a","found":true,"moved":true,"due":{later}}}"#
    );
    peer.exact(&reschedule(later), &line);
    peer.plan("a", "1", at);
    let seen = task(&mut peer);
    assert_eq!(
        (&seen["fire_at"], &seen["due"]),
        (&json!(at), &json!(later))
    );
    let (_, due) = moved(&mut peer, &reschedule(0));
    assert!(due.unwrap() < at, "a past time means now");
    peer.delivery();
}

#[test]
fn a_parked_task_waits_again() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.due("a", "1");
    peer.stats_until("a", |stats| stats["parked"] == 1);
    let at = later();
    assert_eq!(moved(&mut peer, &reschedule(at)), (true, Some(at)));
    let stats = peer.stats("a");
    assert_eq!(
        (&stats["waiting"], &stats["parked"]),
        (&json!(1), &json!(0))
    );
    peer.register("a");
    peer.quiet();
}

#[test]
fn a_task_in_flight_is_not_moved() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let delivery = peer.delivery();
    peer.exact(
        RUN_NOW,
        r#"{"kind":"moved","id":"1","route_key":"a","found":true,"moved":false}"#,
    );
    assert_eq!(moved(&mut peer, &reschedule(later())), (true, None));
    assert!(peer.removes(&delivery));
}

#[test]
fn a_task_that_waits_for_its_next_round_is_run_now() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let delivery = peer.delivery();
    peer.send(echo_with("nack", &delivery, r#""delay_ms":3600000"#));
    assert!(moved(&mut peer, RUN_NOW).1.is_some());
    assert_eq!(peer.delivery()["attempt"], 2);
}

#[test]
fn a_dead_task_is_to_be_kicked() {
    let server = Server::start(json!({"max_attempts": 1}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let delivery = peer.delivery();
    peer.send(echo("nack", &delivery));
    peer.stats_until("a", |stats| stats["dead"] == 1);
    for line in [RUN_NOW.to_owned(), reschedule(later())] {
        let error = peer.ask(&line);
        assert_eq!(
            (&error["code"], &error["id"]),
            (&json!("dead"), &json!("1"))
        );
        assert!(error["message"].as_str().unwrap().contains("kick it"));
    }
    assert_eq!(peer.stats("a")["dead"], 1);
}

#[test]
fn a_task_is_not_moved_to_when_it_has_expired() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let (at, expires_at) = (later(), later() + 1_000);
    let with_expiry =
        schedule("a", "1", at).replacen('{', &format!(r#"{{"expires_at":{expires_at},"#), 1);
    peer.ask(&with_expiry);
    let error = peer.ask(&reschedule(expires_at));
    assert_eq!(error["code"], "bad_field");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.starts_with(&format!("due is {expires_at} (")),
        "{error}"
    );
    assert!(
        message.contains(&format!("), and expires_at is {expires_at} (")),
        "{error}"
    );
    assert_eq!(task(&mut peer)["due"], at);
    let due = expires_at - 1;
    assert_eq!(moved(&mut peer, &reschedule(due)), (true, Some(due)));
}

#[test]
fn requests_of_a_connection_take_effect_in_order() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let at = later();
    let move_there = reschedule(at);
    let schedule = schedule("a", "1", 0);
    let cancel = r#"{"kind":"cancel","id":"1","route_key":"a"}"#;
    let tags = [&schedule, &*move_there, cancel, &*move_there].map(|line| peer.ask_later(line));
    let [_, moved, cancelled, gone] = tags.map(|tag| peer.answer(&tag));
    assert_eq!(moved["due"], at);
    assert_eq!(cancelled["found"], true);
    assert_eq!(gone["found"], false);
}

#[test]
fn a_move_survives_a_restart() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.plan("a", "1", later());
    moved(&mut peer, RUN_NOW);
    let server = server.restart(json!({}));
    let mut peer = server.consumer("a");
    assert_eq!(peer.delivery()["id"], "1");
}
