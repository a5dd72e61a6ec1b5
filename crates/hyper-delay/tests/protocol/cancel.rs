use serde_json::json;
use testkit::{
    Peer,
    request::{echo_with, later, schedule},
};

use crate::server::Server;

fn cancel(peer: &mut Peer, id: &str) -> (bool, bool) {
    let reply = peer.ask(&format!(
        r#"{{"kind":"cancel","id":"{id}","route_key":"a"}}"#
    ));
    assert_eq!(reply["kind"], "cancelled", "{reply}");
    let [found, in_flight] = ["found", "in_flight"].map(|name| reply[name].as_bool());
    (
        found.expect("it is a flag"),
        in_flight.expect("it is a flag"),
    )
}

#[test]
fn a_waiting_task_is_cancelled_and_its_name_is_free() {
    let server = Server::start(json!({"sync": "always"}));
    let mut peer = server.consumer("a");
    peer.plan("a", "1", later());
    peer.exact(
        r#"{"kind":"cancel","id":"1","route_key":"a"}"#,
        r#"{"kind":"cancelled","id":"1","route_key":"a","found":true,"in_flight":false}"#,
    );
    assert_eq!(cancel(&mut peer, "1"), (false, false));
    assert_eq!(peer.stats("a")["waiting"], 0);
    peer.due("a", "1");
    assert_eq!(peer.delivery()["attempt"], 1);
}

#[test]
fn a_parked_task_is_cancelled() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.due("a", "1");
    peer.stats_until("a", |stats| stats["parked"] == 1);
    assert_eq!(cancel(&mut peer, "1"), (true, false));
    peer.register("a");
    peer.quiet();
}

#[test]
fn a_task_that_waits_for_room_is_cancelled() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.register_with("a", r#""credit":1"#);
    peer.due("a", "1");
    peer.due("a", "2");
    assert_eq!(cancel(&mut peer, "2"), (true, false));
    let delivery = peer.delivery();
    assert!(peer.removes(&delivery));
    peer.quiet();
}

#[test]
fn a_task_in_flight_is_cancelled_and_its_ack_removes_nothing() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let delivery = peer.delivery();
    assert_eq!(cancel(&mut server.peer(), "1"), (true, true));
    assert_eq!(cancel(&mut peer, "1"), (false, false));
    assert!(!peer.removes(&delivery));
    peer.quiet();
}

#[test]
fn a_nack_of_a_cancelled_task_changes_nothing() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let delivery = peer.delivery();
    assert_eq!(cancel(&mut peer, "1"), (true, true));
    peer.send(echo_with("nack", &delivery, r#""delay_ms":0"#));
    peer.quiet();
    assert_eq!(peer.stats("a")["waiting"], 0);
}

#[test]
fn a_task_that_waits_for_its_next_round_is_cancelled() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let delivery = peer.delivery();
    peer.send(echo_with("nack", &delivery, r#""delay_ms":3600000"#));
    peer.quiet();
    assert_eq!(cancel(&mut peer, "1"), (true, false));
    assert_eq!(peer.stats("a")["waiting"], 0);
}

#[test]
fn a_dead_task_is_cancelled() {
    let server = Server::start(json!({"max_attempts": 1}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let delivery = peer.delivery();
    peer.send(testkit::request::echo("nack", &delivery));
    peer.stats_until("a", |stats| stats["dead"] == 1);
    assert_eq!(cancel(&mut peer, "1"), (true, false));
    assert_eq!(peer.stats("a")["dead"], 0);
}

#[test]
fn a_task_that_is_done_is_not_found() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let delivery = peer.delivery();
    assert!(peer.removes(&delivery));
    assert_eq!(cancel(&mut peer, "1"), (false, false));
    // It is still remembered.
    assert_eq!(peer.code(&schedule("a", "1", 2)), "duplicate_id");
    assert_eq!(cancel(&mut peer, "never there"), (false, false));
}

#[test]
fn the_name_is_free_while_the_consumer_still_has_the_old_task() {
    let server = Server::start(json!({}));
    let mut first = server.consumer("a");
    first.due("a", "1");
    let old = first.delivery();
    assert_eq!(cancel(&mut first, "1"), (true, true));
    first.plan("a", "1", 2);
    // A connection has one delivery of an id at a time.
    first.quiet();
    let mut second = server.consumer("a");
    let new = second.delivery();
    assert_eq!((&new["fire_at"], &new["attempt"]), (&json!(2), &json!(1)));
    assert!(!first.removes(&old));
    assert!(second.removes(&new));
}

#[test]
fn a_cancel_right_behind_its_schedule_does_not_cost_credit() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.register_with("a", r#""credit":1"#);
    for id in 0..50 {
        // The first delivery may or may not be sent before the cancel.
        let schedule = peer.ask_later(&schedule("a", &id.to_string(), 1));
        let cancel = peer.ask_later(&format!(
            r#"{{"kind":"cancel","id":"{id}","route_key":"a"}}"#
        ));
        assert_eq!(peer.answer(&schedule)["kind"], "ack");
        assert_eq!(peer.answer(&cancel)["found"], true);
        let next = format!("after {id}");
        peer.due("a", &next);
        let mut delivery = peer.delivery();
        if delivery["id"] == *id.to_string() {
            assert!(!peer.removes(&delivery));
            delivery = peer.delivery();
        }
        assert_eq!(delivery["id"], next);
        assert!(peer.removes(&delivery));
    }
}
