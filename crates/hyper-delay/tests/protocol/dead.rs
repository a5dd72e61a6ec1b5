use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{
    Peer,
    request::{all, echo, echo_with},
};

use crate::server::Server;

/// Starts a server with these dead tasks, in this order of death.
fn graves(ids: &[String], config: Value) -> (Server, Peer) {
    let server = Server::start(config);
    let mut peer = server.consumer("a");
    for (count, id) in ids.iter().enumerate() {
        peer.due("a", id);
        let delivery = peer.delivery();
        peer.send(echo("nack", &delivery));
        peer.stats_until("a", |stats| stats["dead"] == count as u64 + 1);
    }
    (server, peer)
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|id| format!("é{id}")).collect()
}

fn dead(peer: &mut Peer, fields: &str) -> (Vec<Value>, bool) {
    let mut reply = peer.ask(&format!(r#"{{"kind":"dead","route_key":"a"{fields}}}"#));
    assert_eq!(
        (&reply["kind"], &reply["route_key"]),
        (&json!("dead"), &json!("a")),
        "{reply}"
    );
    let more = reply["more"].as_bool().expect("it is a flag");
    match reply["tasks"].take() {
        Value::Array(tasks) => (tasks, more),
        other => panic!("{other} is no list"),
    }
}

#[test]
fn a_task_is_dead_after_max_attempts_failures() {
    let server = Server::start(json!({"max_attempts": 3, "retry_delay_ms": 1}));
    let mut peer = server.consumer("a");
    let start = testkit::request::now();
    peer.plan("a", "1", 5);
    for attempt in 1..=3 {
        assert_eq!(dead(&mut peer, ""), (vec![], false));
        let delivery = peer.delivery();
        assert_eq!(delivery["attempt"], attempt);
        peer.send(echo_with("nack", &delivery, r#""delay_ms":0"#));
    }
    peer.stats_until("a", |stats| stats["dead"] == 1);
    peer.quiet();
    let (tasks, more) = dead(&mut peer, "");
    let [task] = tasks.as_slice() else {
        panic!("there is one: {tasks:?}");
    };
    let died_at = task["died_at"].as_u64().expect("it is a number");
    let failure = json!({"at": died_at, "kind": "nack"});
    assert!((start..=testkit::request::now()).contains(&died_at));
    assert_eq!(
        *task,
        json!({
            "id": "1", "fire_at": 5, "attempt": 3, "died_at": died_at, "last_failure": failure,
        })
    );
    assert!(!more);
}

#[test]
fn dead_letters_are_listed_oldest_first_and_in_pages() {
    let ids = names(7);
    let (_server, mut peer) = graves(&ids, json!({"max_attempts": 1}));
    let (tasks, more) = dead(&mut peer, "");
    assert_eq!(
        (all(&tasks, "id"), more),
        (ids.iter().map(|id| &**id).collect(), false)
    );
    let mut after = String::new();
    let mut found = Vec::new();
    loop {
        let (tasks, more) = dead(&mut peer, &format!(r#","limit":3{after}"#));
        found.extend(all(&tasks, "id").into_iter().map(str::to_owned));
        assert_eq!(tasks.len() == 3, more);
        if !more {
            break;
        }
        after = format!(r#","after":"{}""#, found.last().expect("there is one"));
    }
    assert_eq!(found, ids);
    let (tasks, more) = dead(&mut peer, r#","limit":7"#);
    assert_eq!((tasks.len(), more), (7, false));
    let (tasks, more) = dead(&mut peer, &format!(r#","after":"{}""#, ids[6]));
    assert_eq!((tasks.len(), more), (0, false));
}

#[test]
fn a_hundred_are_listed_by_default() {
    let server = Server::start(json!({"max_attempts": 1}));
    let mut peer = server.peer();
    peer.register_with("a", r#""credit":200"#);
    for id in names(150) {
        peer.send(testkit::request::schedule("a", &id, 1));
    }
    for _ in 0..150 {
        let delivery = peer.delivery();
        peer.send(echo("nack", &delivery));
    }
    peer.stats_until("a", |stats| stats["dead"] == 150);
    let (tasks, more) = dead(&mut peer, "");
    assert_eq!((tasks.len(), more), (100, true));
    let (tasks, more) = dead(&mut peer, r#","limit":1000"#);
    assert_eq!((tasks.len(), more), (150, false));
}

#[test]
fn a_list_is_cut_to_fit_into_a_line() {
    let ids: Vec<String> = (0..9)
        .map(|id| format!("{id}{}", "\\u0001".repeat(120)))
        .collect();
    let (_server, mut peer) = graves(&ids, json!({"max_attempts": 1, "max_line_bytes": 4096}));
    let mut after = String::new();
    let mut found = 0;
    loop {
        peer.send(format!(r#"{{"kind":"dead","route_key":"a"{after}}}"#));
        let line = peer.line().expect("it is answered");
        assert!(line.len() <= 4096, "{}", line.len());
        let page: Value = serde_json::from_str(&line).expect("it is JSON");
        let tasks = page["tasks"].as_array().expect("it is a list");
        found += tasks.len();
        if page["more"] == false {
            break;
        }
        after = format!(r#","after":{}"#, tasks.last().expect("there is one")["id"]);
    }
    assert_eq!(found, 9);
}

#[test]
fn a_kicked_task_is_due_now_with_all_its_attempts() {
    let server = Server::start(json!({"max_attempts": 2, "retry_delay_ms": 1}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    for life in 0..3 {
        for round in 1..=2 {
            let delivery = peer.delivery();
            assert_eq!(delivery["attempt"], life * 2 + round);
            peer.send(echo("nack", &delivery));
        }
        peer.stats_until("a", |stats| stats["dead"] == 1);
        peer.send(r#"{"kind":"kick","id":"1","route_key":"a"}"#);
        let kicked = peer.kind("kicked");
        assert_eq!(
            kicked,
            json!({"kind": "kicked", "id": "1", "route_key": "a", "found": true})
        );
        assert_eq!(peer.stats("a")["dead"], 0);
    }
    let delivery = peer.delivery();
    assert!(peer.removes(&delivery));
}

#[test]
fn only_a_dead_task_is_kicked() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.plan("a", "waiting", testkit::request::later());
    peer.due("a", "in flight");
    let delivery = peer.delivery();
    for id in ["waiting", "in flight", "unknown"] {
        peer.exact(
            &format!(r#"{{"kind":"kick","id":"{id}","route_key":"a"}}"#),
            &format!(r#"{{"kind":"kicked","id":"{id}","route_key":"a","found":false}}"#),
        );
    }
    peer.quiet();
    assert!(peer.removes(&delivery));
}

#[test]
fn the_name_of_a_dead_task_is_taken() {
    let (_server, mut peer) = graves(&names(1), json!({"max_attempts": 1}));
    assert_eq!(
        peer.code(&testkit::request::schedule("a", "é0", 2)),
        "duplicate_id"
    );
    peer.due("a", "é0");
    peer.quiet();
    assert_eq!(peer.stats("a")["dead"], 1);
}

#[test]
fn a_dead_letter_is_removed_after_the_retention_and_its_name_is_free() {
    let server = Server::start(json!({"max_attempts": 1, "dead_retention_seconds": 1}));
    let mut peer = server.consumer("a");
    let start = Instant::now();
    peer.due("a", "1");
    let delivery = peer.delivery();
    peer.send(echo("nack", &delivery));
    // On a slow machine it is removed before it is seen dead.
    peer.until(
        |peer| peer.ask(r#"{"kind":"get","route_key":"a","id":"1"}"#),
        |task| task["found"] == false,
    );
    // The server counts whole milliseconds.
    assert!(start.elapsed() >= Duration::from_millis(990));
    peer.due("a", "1");
    assert_eq!(peer.delivery()["attempt"], 1);
}
