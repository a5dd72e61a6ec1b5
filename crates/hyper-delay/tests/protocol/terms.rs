use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{
    Peer,
    request::{echo, now},
};

use crate::{deliveries::received, server::Server};

/// Schedules a task of route `a` that is due now, with these fields.
fn due(id: &str, fields: &str) -> String {
    format!(r#"{{"kind":"schedule","id":"{id}","route_key":"a","fire_at":0,{fields}}}"#)
}

fn task(peer: &mut Peer, id: &str) -> Value {
    peer.ask(&format!(
        r#"{{"kind":"get","route_key":"a","id":"{id}","payload":true}}"#
    ))
}

/// Waits until a task is due after `moment`. Its new time can be read once it is on disk, which is
/// after the task is counted as waiting.
fn is_due_after(peer: &mut Peer, id: &str, moment: u64) {
    peer.until(
        |peer| task(peer, id),
        |task| task["due"].as_u64().is_some_and(|due| due > moment),
    );
}

/// Waits until a task is gone.
fn gone(peer: &mut Peer, id: &str) {
    peer.until(|peer| task(peer, id), |task| task["found"] == false);
}

#[test]
fn a_delivery_has_the_headers_of_its_task_after_a_restart() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let later = now() + 3_600_000;
    let expires = format!(r#""headers":{{"traceparent":"00-\u0061","b":""}},"expires_at":{later}"#);
    assert_eq!(peer.ask(&due("1", &expires))["kind"], "ack");
    let wanted = json!({"traceparent": "00-a", "b": ""});
    assert_eq!(task(&mut peer, "1")["headers"], wanted);
    // Headers are not content, and terms are.
    let others = format!(r#""headers":{{"traceparent":"00-c"}},"expires_at":{later}"#);
    assert_eq!(peer.ask(&due("1", &others))["kind"], "ack");
    let fewer = peer.ask(&due("1", r#""headers":{"traceparent":"00-c"}"#));
    assert_eq!(fewer["code"], "duplicate_id");
    drop(peer);
    let server = server.restart(json!({}));
    let mut consumer = server.consumer("a");
    let delivery = consumer.delivery();
    assert_eq!(delivery["headers"], wanted);
    assert!(consumer.removes(&delivery));
    consumer.due("a", "2");
    assert_eq!(consumer.delivery().get("headers"), None);
}

#[test]
fn a_task_expires_in_every_state_but_not_in_flight() {
    let mut lead = 500;
    // On a slow machine the tasks can expire before all are in their states.
    while !expires_in_every_state(lead) {
        lead *= 2;
    }
}

/// Makes tasks that expire in `lead` milliseconds. Returns false if that time passed before all
/// were in their states.
fn expires_in_every_state(lead: u64) -> bool {
    let server = Server::start(json!({"ack_timeout_ms": 3_600_000, "max_attempts": 1}));
    let mut consumer = server.consumer("a");
    let mut peer = server.peer();
    let until = now() + lead;
    let expires = format!(r#""expires_at":{until}"#);
    let again = format!(r#"{expires},"max_attempts":2,"retry_delay_ms":3600000"#);
    for (id, fields) in [
        ("dead", &expires),
        ("waiting", &again),
        ("in_flight", &expires),
    ] {
        peer.ask(&due(id, fields));
    }
    let deliveries = received(&mut consumer);
    for delivery in &deliveries {
        if delivery["id"] != "in_flight" {
            consumer.send(echo("nack", delivery));
        }
    }
    consumer.ask(r#"{"kind":"unregister","route_key":"a"}"#);
    peer.ask(&due("parked", &expires));
    // All states are on disk before this reply.
    peer.ask(r#"{"kind":"cancel","route_key":"a","id":"none"}"#);
    let ids = ["dead", "waiting", "parked", "in_flight"];
    let states = ids.map(|id| task(&mut peer, id)["state"].take());
    if states != ids {
        assert!(now() >= until, "{states:?}");
        return false;
    }
    for id in ["dead", "waiting", "parked"] {
        gone(&mut peer, id);
    }
    assert!(now() >= until);
    assert_eq!(task(&mut peer, "in_flight")["state"], "in_flight");
    // Its ack counts; and so would have its failure.
    let mut deliveries = deliveries.iter();
    let in_flight = deliveries.find(|delivery| delivery["id"] == "in_flight");
    assert!(consumer.removes(in_flight.expect("it is in flight")));
    let counts = peer.all_stats();
    for state in ids {
        assert_eq!(counts[state], 0, "{state}");
    }
    true
}

#[test]
fn a_task_that_expired_in_flight_is_removed_when_its_round_fails() {
    let server = Server::start(json!({}));
    let mut consumer = server.consumer("a");
    let mut peer = server.peer();
    let mut lead = 300;
    let (until, delivery) = loop {
        let until = now() + lead;
        peer.ask(&due("1", &format!(r#""expires_at":{until}"#)));
        if let Some(delivery) = received(&mut consumer).pop() {
            break (until, delivery);
        }
        // On a slow machine it can expire before its delivery.
        assert!(now() >= until, "it is not delivered");
        gone(&mut peer, "1");
        lead *= 2;
    };
    while now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    consumer.send(echo("nack", &delivery));
    gone(&mut peer, "1");
    // Its name is free.
    consumer.due("a", "1");
    assert_eq!(consumer.delivery()["attempt"], 1);
}

#[test]
fn what_expired_while_the_server_was_down_is_not_delivered() {
    let mut server = Server::start(json!({}));
    let mut peer = server.peer();
    let until = now() + 200;
    peer.ask(&due("1", &format!(r#""expires_at":{until}"#)));
    peer.ask(&due("2", r#""max_attempts":1"#));
    let ended = server.ask_to_stop().join().unwrap();
    ended.unwrap();
    while now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    let server = server.again(json!({}));
    let mut consumer = server.consumer("a");
    assert_eq!(consumer.delivery()["id"], "2");
    consumer.quiet();
    gone(&mut consumer, "1");
}

#[test]
fn the_terms_of_a_task_come_before_those_of_its_route_and_of_the_server() {
    let route = json!({"ack_timeout_ms": 60_000, "max_attempts": 2, "retry_delay_ms": 1});
    let server = Server::start(json!({
        "routes": {"a": route}, "ack_timeout_ms": 60_000, "max_attempts": 3,
        "retry_delay_ms": 3_600_000, "max_retry_delay_ms": 3_600_000,
    }));
    let mut consumer = server.consumer("a");
    let mut peer = server.peer();
    // The attempts of the route, and the ack timeout of the task.
    let start = Instant::now();
    peer.ask(&due("1", r#""ack_timeout_ms":200"#));
    peer.stats_until("a", |stats| stats["dead"] == 1);
    assert!(start.elapsed() >= Duration::from_millis(400));
    assert_eq!(task(&mut peer, "1")["attempt"], 2);
    // On a slow machine not every attempt has a delivery.
    received(&mut consumer);
    // The attempts of the task.
    peer.ask(&due("2", r#""max_attempts":1"#));
    let delivery = consumer.delivery();
    consumer.send(echo("nack", &delivery));
    peer.stats_until("a", |stats| stats["dead"] == 2);
    let shown = task(&mut peer, "2");
    assert_eq!(
        (&shown["state"], &shown["max_attempts"]),
        (&json!("dead"), &json!(1))
    );
    // The retry delay of the task.
    peer.ask(&due("3", r#""retry_delay_ms":3600000"#));
    let delivery = consumer.delivery();
    consumer.send(echo("nack", &delivery));
    let waiting = peer.stats_until("a", |stats| {
        stats["waiting"] == 1 && stats["in_flight"] == 0
    });
    assert_eq!(waiting["dead"], 2);
    is_due_after(&mut peer, "3", now() + 1_700_000);
    // A kick keeps the terms.
    peer.ask(r#"{"kind":"kick","route_key":"a","id":"2"}"#);
    let delivery = consumer.delivery();
    assert_eq!(delivery["attempt"], 2);
    consumer.send(echo("nack", &delivery));
    peer.stats_until("a", |stats| stats["dead"] == 2 && stats["in_flight"] == 0);
}

#[test]
fn a_time_of_expiry_that_has_passed_is_refused() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let refused = peer.ask(&due("1", r#""expires_at":5"#));
    assert_eq!(refused["code"], "bad_field");
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.starts_with(
            "expires_at is 5 (1970-01-01T00:00:00.005Z), which has passed: give a time after "
        ),
        "{message}"
    );
}

#[test]
fn a_time_of_expiry_that_has_passed_is_refused_in_a_repetition_too() {
    let mut lead = 300;
    // On a slow machine the time can pass before the first repetition.
    while !is_refused_in_a_repetition(lead) {
        lead *= 2;
    }
}

/// Repeats tasks that expire in `lead` milliseconds. Returns false if that time passed before the
/// first repetition.
fn is_refused_in_a_repetition(lead: u64) -> bool {
    let server = Server::start(json!({}));
    let mut consumer = server.consumer("a");
    let mut peer = server.peer();
    let until = now() + lead;
    let line = |id: &str| due(id, &format!(r#""expires_at":{until}"#));
    let ids = ["in flight", "done"];
    for id in ids {
        peer.ask(&line(id));
    }
    let deliveries = received(&mut consumer);
    if let Some(done) = deliveries.iter().find(|delivery| delivery["id"] == "done") {
        assert!(consumer.removes(done));
    }
    let repeated = ids.map(|id| peer.ask(&line(id)));
    if repeated.iter().any(|reply| reply["kind"] != "ack") {
        assert!(now() >= until, "the same content: {repeated:?}");
        return false;
    }
    assert_eq!(deliveries.len(), 2, "both are delivered");
    for id in ids {
        let refused = peer.until(|peer| peer.ask(&line(id)), |reply| reply["kind"] != "ack");
        assert!(now() >= until, "{refused}");
        assert_eq!(refused["code"], "bad_field", "{refused}");
        let message = refused["message"].as_str().expect("it is a text");
        assert!(message.contains("which has passed"), "{message}");
    }
    assert_eq!(task(&mut peer, "in flight")["state"], "in_flight");
    true
}
