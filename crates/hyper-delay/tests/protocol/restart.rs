use serde_json::{Value, json};
use testkit::request::{all, echo, echo_with, later, now, replace, schedule};

use crate::server::Server;

fn config() -> Value {
    json!({"sync": "always", "max_attempts": 2, "retry_delay_ms": 1})
}

#[test]
fn waiting_parked_and_dead_tasks_survive() {
    let server = Server::start(config());
    let mut peer = server.consumer("a");
    peer.due("a", "dead");
    for _ in 0..2 {
        let delivery = peer.delivery();
        peer.send(echo("nack", &delivery));
    }
    peer.stats_until("a", |stats| stats["dead"] == 1);
    let soon = now() + 1500;
    peer.plan("soon", "soon", soon);
    peer.plan("a", "later", later());
    for id in ["p1", "p2"] {
        peer.due("parked", id);
    }
    peer.stats_until("parked", |stats| stats["parked"] == 2);
    let graves = peer.ask(r#"{"kind":"dead","route_key":"a"}"#);

    let server = server.restart(config());
    let mut peer = server.consumer("a");
    let counts = [("a", "waiting"), ("parked", "parked"), ("a", "dead")];
    let counts = counts.map(|(route, state)| peer.stats(route)[state].take());
    assert_eq!(counts, [1, 2, 1]);
    let same = peer.ask(r#"{"kind":"dead","route_key":"a"}"#);
    assert_eq!(same["tasks"], graves["tasks"]);
    peer.register("soon");
    let delivery = peer.delivery();
    assert_eq!(
        (&delivery["id"], &delivery["fire_at"]),
        (&json!("soon"), &json!(soon))
    );
    assert!(now() >= soon);
    assert!(peer.removes(&delivery));
    let mut other = server.consumer("parked");
    let parked = [other.delivery(), other.delivery()];
    assert_eq!(all(&parked, "id"), ["p1", "p2"]);
    peer.ask(r#"{"kind":"kick","id":"dead","route_key":"a"}"#);
    assert_eq!(peer.delivery()["attempt"], 3);
}

#[test]
fn tasks_that_fell_due_while_stopped_are_delivered() {
    let server = Server::start(config());
    let mut peer = server.peer();
    let at = now() + 200;
    for id in 0..50 {
        peer.plan("a", &id.to_string(), at + id);
    }
    let server = server.restart(config());
    let mut peer = server.consumer("a");
    for _ in 0..50 {
        let delivery = peer.delivery();
        assert!(peer.removes(&delivery));
    }
    peer.quiet();
}

#[test]
fn finished_tasks_are_remembered() {
    let server = Server::start(config());
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let delivery = peer.delivery();
    assert!(peer.removes(&delivery));

    let server = server.restart(config());
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    peer.quiet();
    assert_eq!(peer.code(&schedule("a", "1", 2)), "duplicate_id");
    peer.ask(&replace("a", "1", "bmV3"));
    assert_eq!(peer.delivery()["attempt"], 2);
}

#[test]
fn tasks_in_flight_have_not_failed_and_are_delivered_again() {
    let server = Server::start(json!({"max_attempts": 1}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    assert_eq!(peer.delivery()["attempt"], 1);
    let server = server.restart(json!({"max_attempts": 1}));
    assert_eq!(peer.rest(), Vec::<Value>::new());
    let mut peer = server.consumer("a");
    assert_eq!(peer.delivery()["attempt"], 1);
}

#[test]
fn the_time_of_the_next_round_survives() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    let start = std::time::Instant::now();
    peer.due("a", "1");
    peer.due("a", "2");
    for delay in [1500, 3_600_000] {
        let delivery = peer.delivery();
        peer.send(echo_with(
            "nack",
            &delivery,
            &format!(r#""delay_ms":{delay}"#),
        ));
    }
    // The nacks take effect before the reply. On a slow machine the first task is due again.
    peer.ask(r#"{"kind":"ping"}"#);
    let server = server.restart(json!({}));
    let mut peer = server.consumer("a");
    let delivery = peer.delivery();
    assert!(start.elapsed() >= std::time::Duration::from_millis(1490));
    assert_eq!(
        (&delivery["id"], &delivery["attempt"]),
        (&json!("1"), &json!(2))
    );
    peer.quiet();
    // On a slow machine the first was parked before it had a consumer.
    let stats = peer.stats("a");
    let left = ["waiting", "parked"].map(|state| stats[state].as_u64());
    assert_eq!(left.into_iter().flatten().sum::<u64>(), 2);
}

#[test]
fn replacements_and_cancellations_survive() {
    let server = Server::start(config());
    let mut peer = server.peer();
    for id in ["replaced", "cancelled"] {
        peer.due("a", id);
    }
    peer.ask(&replace("a", "replaced", "bmV3"));
    peer.ask(r#"{"kind":"cancel","id":"cancelled","route_key":"a"}"#);
    let server = server.restart(config());
    let mut peer = server.consumer("a");
    assert_eq!(peer.delivery()["payload_base64"], "bmV3");
    peer.quiet();
}
