use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{
    Peer,
    request::{echo, now},
};

use crate::server::Server;

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
    let start = Instant::now();
    while task(peer, id)["due"]
        .as_u64()
        .is_none_or(|due| due <= moment)
    {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{id} is not due after {moment}: {}",
            task(peer, id)
        );
    }
}

/// Waits until a task is gone, and returns how long that took.
fn gone(peer: &mut Peer, id: &str) -> Duration {
    let start = Instant::now();
    while task(peer, id)["found"] == true {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{id} is not removed"
        );
    }
    start.elapsed()
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
    let server = Server::start(json!({"retry_delay_ms": 1, "max_attempts": 1}));
    let mut consumer = server.consumer("a");
    let mut peer = server.peer();
    let expires = |after: u64| format!(r#""expires_at":{}"#, now() + after);
    // Dead.
    peer.ask(&due("dead", &expires(1_500)));
    let delivery = consumer.delivery();
    consumer.send(echo("nack", &delivery));
    // In flight.
    let until = now() + 1_500;
    peer.ask(&due("in flight", &expires(1_500)));
    let in_flight = consumer.delivery();
    // Parked, as the connection holds the same id.
    peer.ask(r#"{"kind":"unregister","route_key":"a"}"#);
    consumer.ask(r#"{"kind":"unregister","route_key":"a"}"#);
    peer.ask(&due("parked", &expires(1_000)));
    // Waiting.
    let waiting = format!(
        r#"{{"kind":"schedule","id":"waiting","route_key":"a","fire_at":{},"expires_at":{}}}"#,
        now() + 600,
        now() + 1_000,
    );
    peer.ask(&waiting);
    assert_eq!(task(&mut peer, "dead")["state"], "dead");
    assert_eq!(task(&mut peer, "parked")["state"], "parked");
    assert_eq!(task(&mut peer, "waiting")["found"], true);
    for id in ["parked", "waiting", "dead"] {
        gone(&mut peer, id);
    }
    while now() <= until {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(task(&mut peer, "in flight")["state"], "in_flight");
    // Its ack counts; and so would have its failure.
    assert!(consumer.removes(&in_flight));
    let counts = peer.all_stats();
    for state in ["waiting", "parked", "in_flight", "dead"] {
        assert_eq!(counts[state], 0, "{state}");
    }
}

#[test]
fn a_task_that_expired_in_flight_is_removed_when_its_round_fails() {
    let server = Server::start(json!({}));
    let mut consumer = server.consumer("a");
    let mut peer = server.peer();
    let until = now() + 300;
    peer.ask(&due("1", &format!(r#""expires_at":{until}"#)));
    let delivery = consumer.delivery();
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
    assert_eq!(task(&mut consumer, "1")["found"], false);
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
    for attempt in 1..=2 {
        assert_eq!(consumer.delivery()["attempt"], attempt);
    }
    peer.stats_until("a", |stats| stats["dead"] == 1);
    assert!(start.elapsed() >= Duration::from_millis(400));
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
        message.starts_with("expires_at is 5, which has passed: give a time after "),
        "{message}"
    );
}

#[test]
fn a_time_of_expiry_that_has_passed_is_refused_in_a_repetition_too() {
    let server = Server::start(json!({}));
    let mut consumer = server.consumer("a");
    let mut peer = server.peer();
    let until = now() + 300;
    let line = |id: &str| due(id, &format!(r#""expires_at":{until}"#));
    for id in ["in flight", "done"] {
        assert_eq!(peer.ask(&line(id))["kind"], "ack");
    }
    let deliveries = [consumer.delivery(), consumer.delivery()];
    let done = deliveries.iter().find(|delivery| delivery["id"] == "done");
    assert!(consumer.removes(done.expect("both are delivered")));
    for id in ["in flight", "done"] {
        assert_eq!(peer.ask(&line(id))["kind"], "ack", "the same content");
    }
    while now() <= until {
        std::thread::sleep(Duration::from_millis(10));
    }
    for id in ["in flight", "done"] {
        let refused = peer.ask(&line(id));
        assert_eq!(refused["code"], "bad_field", "{refused}");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("which has passed"), "{message}");
    }
    assert_eq!(task(&mut peer, "in flight")["state"], "in_flight");
}
