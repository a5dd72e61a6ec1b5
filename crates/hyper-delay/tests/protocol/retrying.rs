//! Tasks that fail and are tried again: what shows that they do, and why.

use serde_json::{Value, json};
use testkit::{
    Peer,
    request::{echo, echo_with, now},
};

use crate::server::Server;

/// Tasks that fail are tried again after an hour.
fn config() -> Value {
    let hour = 3_600_000;
    json!({"retry_delay_ms": hour, "max_retry_delay_ms": hour})
}

/// The task `id` of route `a` fails with a reason.
fn fail(peer: &mut Peer, id: &str, reason: Option<&str>) {
    peer.due("a", id);
    let delivery = peer.delivery();
    match reason {
        Some(reason) => peer.send(echo_with(
            "nack",
            &delivery,
            &format!(r#""reason":"{reason}""#),
        )),
        None => peer.send(echo("nack", &delivery)),
    }
}

fn ids(reply: &Value) -> Vec<&str> {
    let tasks = reply["tasks"].as_array().expect("a list");
    tasks
        .iter()
        .map(|task| task["id"].as_str().expect("a name"))
        .collect()
}

#[test]
fn a_failing_task_says_when_and_why_until_it_is_done() {
    let server = Server::start(config());
    let mut peer = server.consumer("a");
    let before = now();
    fail(&mut peer, "1", Some("disk full"));
    peer.due("a", "2");
    let second = peer.delivery();
    peer.stats_until("a", |stats| stats["retrying"] == 1);
    assert_eq!(peer.all_stats()["retrying"], 1);
    let task = peer.ask(r#"{"kind":"get","route_key":"a","id":"1"}"#);
    assert_eq!(task["state"], "waiting", "{task}");
    let failure = &task["last_failure"];
    assert!((before..=now()).contains(&failure["at"].as_u64().unwrap()));
    assert_eq!(
        (&failure["kind"], &failure["reason"]),
        (&json!("nack"), &json!("disk full"))
    );
    let other = peer.ask(r#"{"kind":"get","route_key":"a","id":"2"}"#);
    assert_eq!(other.get("last_failure"), None);
    peer.send(echo("nack", &second));
    peer.stats_until("a", |stats| stats["retrying"] == 2);
    let request = |rest: &str| format!(r#"{{"kind":"list","state":"retrying"{rest}}}"#);
    let all = peer.ask(&request(""));
    assert_eq!(ids(&all).len(), 2, "{all}");
    assert!(all["tasks"][0]["last_failure"]["at"].is_u64(), "{all}");
    for (rest, expected) in [
        (r#","route_key":"a","reason":"disk full""#, vec!["1"]),
        (r#","reason":"""#, vec!["2"]),
        (r#","route_key":"b""#, vec![]),
    ] {
        let reply = peer.ask(&request(rest));
        assert_eq!(ids(&reply), expected, "{rest}");
    }
    let waiting = peer.ask(r#"{"kind":"list","state":"waiting"}"#);
    assert_eq!(ids(&waiting).len(), 2, "they are waiting, too");
    let cancelled = peer.ask(r#"{"kind":"cancel","route_key":"a","id":"1"}"#);
    assert_eq!(cancelled["found"], true);
    peer.stats_until("a", |stats| stats["retrying"] == 1);
}

#[test]
fn reasons_of_retrying_tasks_are_counted_apart_from_those_of_dead_ones() {
    let server = Server::start(config());
    let mut peer = server.consumer("a");
    for (id, reason) in [("1", Some("x")), ("2", Some("x")), ("3", None)] {
        fail(&mut peer, id, reason);
    }
    peer.stats_until("a", |stats| stats["retrying"] == 3);
    let reply = peer.ask(r#"{"kind":"reasons","state":"retrying"}"#);
    assert_eq!(
        reply["reasons"],
        json!([
            {"route_key": "a", "reason": "", "failure": "nack", "tasks": 1},
            {"route_key": "a", "reason": "x", "failure": "nack", "tasks": 2},
        ])
    );
    for dead in [
        r#"{"kind":"reasons"}"#,
        r#"{"kind":"reasons","state":"dead"}"#,
    ] {
        assert_eq!(peer.ask(dead)["reasons"], json!([]));
    }
    let refused = peer.ask(r#"{"kind":"reasons","state":"parked"}"#);
    assert_eq!(refused["code"], "bad_field", "{refused}");
}

#[test]
fn failures_survive_a_restart() {
    let server = Server::start(config());
    let mut peer = server.consumer("a");
    fail(&mut peer, "1", Some("no route to host"));
    peer.stats_until("a", |stats| stats["retrying"] == 1);
    let server = server.restart(config());
    let mut peer = server.peer();
    assert_eq!(peer.all_stats()["retrying"], 1);
    let reply = peer.ask(r#"{"kind":"list","state":"retrying"}"#);
    let failure = &reply["tasks"][0]["last_failure"];
    assert_eq!(failure["reason"], "no route to host", "{reply}");
}
