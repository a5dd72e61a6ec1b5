//! Tasks in every state that release 0.3 has.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};
use testkit::{
    Peer, Server,
    request::{echo_with, later},
};

/// Tasks of each state.
pub(crate) const EACH: usize = 24;

/// The rounds of a retrying task that fail before it is dead.
pub(crate) const MAX_ATTEMPTS: usize = 10;

/// A retrying task that dies in its second failed round, and one that dies in its third.
pub(crate) const SECOND_DIES: usize = 6;
pub(crate) const THIRD_DIES: usize = 5;

const KEPT: [&str; 4] = ["waiting", "parked", "retrying", "dead"];

/// The replies to `get`, by route and id.
pub(crate) type States = BTreeMap<(String, String), Value>;

/// A task with headers, terms, both or neither. The times are those of the first call.
pub(crate) fn content(route: &str, number: usize, fire_at: u64) -> Value {
    let id = format!("{route}-{number}");
    let mut task = json!({
        "kind": "schedule",
        "route_key": route,
        "id": id,
        "fire_at": fire_at,
        "payload_base64": BASE64.encode(id.repeat(1 + number)),
    });
    if number.is_multiple_of(2) {
        task["headers"] = json!({"number": number.to_string(), "quote": "\""});
    }
    if number.is_multiple_of(3) {
        task["ack_timeout_ms"] = 50_000.into();
        task["expires_at"] = (fire_at.max(later()) + 86_400_000).into();
    }
    let most = match (route, number) {
        ("dead", _) => 1,
        ("retrying", SECOND_DIES) => 2,
        ("retrying", THIRD_DIES) => 3,
        _ => MAX_ATTEMPTS,
    };
    task["max_attempts"] = most.into();
    task
}

pub(crate) fn schedule(peer: &mut Peer, task: &Value) {
    let reply = peer.ask(&task.to_string());
    assert_eq!(reply["kind"], "ack", "{reply}");
}

/// Fails the round of a delivery, and waits until that is on disk.
pub(crate) fn nack(peer: &mut Peer, delivery: &Value, reason: &str) {
    peer.send(echo_with(
        "nack",
        delivery,
        &format!(r#""delay_ms":3600000,"reason":"{reason}""#),
    ));
    let (route, id) = (delivery["route_key"].clone(), delivery["id"].clone());
    let get = json!({"kind": "get", "route_key": route, "id": id}).to_string();
    let is_written = |task: &Value| {
        // Until then, the state on the disk is that of before the round.
        task["state"] != "in_flight" && task["attempt"] == delivery["attempt"]
    };
    peer.until(|peer| peer.ask(&get), is_written);
}

/// A server's tasks, and the consumers of those in flight.
pub(crate) struct Written {
    pub(crate) states: States,
    /// The request of each task.
    pub(crate) contents: BTreeMap<String, Value>,
    _in_flight: Peer,
}

/// Writes tasks of each state.
pub(crate) fn write(server: &Server) -> Written {
    let mut peer = server.peer();
    let mut contents = BTreeMap::new();
    let at = later();
    for number in 0..EACH {
        for route in [
            "waiting",
            "parked",
            "retrying",
            "dead",
            "flight",
            "done",
            "cancelled",
        ] {
            let fire_at = match route {
                "waiting" | "cancelled" => at,
                _ => 1,
            };
            let task = content(route, number, fire_at);
            schedule(&mut peer, &task);
            contents.insert(format!("{route}-{number}"), task);
        }
        let cancelled = peer.ask(&format!(
            r#"{{"kind":"cancel","route_key":"cancelled","id":"cancelled-{number}"}}"#
        ));
        assert_eq!(cancelled["found"], true, "{cancelled}");
    }
    for (route, reason) in [("retrying", "seen by 0.3"), ("dead", "no disk")] {
        let mut consumer = server.consumer(route);
        for _ in 0..EACH {
            let delivery = consumer.delivery();
            nack(&mut consumer, &delivery, reason);
        }
    }
    let mut consumer = server.consumer("done");
    for _ in 0..EACH {
        let delivery = consumer.delivery();
        assert!(consumer.removes(&delivery));
    }
    let mut in_flight = server.consumer("flight");
    for _ in 0..EACH {
        let delivery = in_flight.delivery();
        assert_eq!(delivery["attempt"], 1, "{delivery}");
    }
    peer.stats_until("parked", |stats| stats["parked"] == EACH);
    Written {
        states: states(&mut peer),
        contents,
        _in_flight: in_flight,
    }
}

/// What `get` says of a task.
pub(crate) fn state(peer: &mut Peer, route: &str, number: usize) -> Value {
    let id = format!("{route}-{number}");
    let get = json!({"kind": "get", "route_key": route, "id": id, "payload": true});
    let mut task = peer.ask(&get.to_string());
    let fields = task.as_object_mut().unwrap();
    fields.remove("tag");
    task
}

/// What `get` says of the tasks that are neither in flight nor gone.
pub(crate) fn states(peer: &mut Peer) -> States {
    let mut states = States::new();
    for route in KEPT {
        for number in 0..EACH {
            let task = state(peer, route, number);
            assert_eq!(task["found"], true, "{task}");
            states.insert((route.to_owned(), format!("{route}-{number}")), task);
        }
    }
    states
}

/// The states without last failures, which 0.3 does not show.
pub(crate) fn without_failures(mut states: States) -> States {
    for task in states.values_mut() {
        task.as_object_mut().unwrap().remove("last_failure");
    }
    states
}

/// The ids of the retrying tasks and the reasons of their last failures, once the server has compared
/// the index with the tasks: their number is then this one.
pub(crate) fn retrying(peer: &mut Peer, number: usize) -> BTreeMap<String, String> {
    let wanted = |stats: &Value| stats["retrying"] == number;
    peer.until(Peer::all_stats, wanted);
    let listed = peer.ask(r#"{"kind":"list","state":"retrying","limit":1000}"#);
    assert_eq!(listed["more"], false, "{listed}");
    let tasks = listed["tasks"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    tasks
        .map(|task| (text(&task["id"]), text(&task["last_failure"]["reason"])))
        .collect()
}
