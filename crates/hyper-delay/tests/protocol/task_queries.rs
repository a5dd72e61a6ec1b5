//! `get`, `list`, `future`, and what `dead` shows on demand.

use serde_json::{Value, json};
use testkit::{
    Peer,
    request::{all, echo, later, now, schedule},
};

use crate::server::Server;

fn get(peer: &mut Peer, route: &str, id: &str) -> Value {
    peer.ask(&format!(
        r#"{{"kind":"get","route_key":"{route}","id":"{id}"}}"#
    ))
}

fn list(peer: &mut Peer, fields: &str) -> (Vec<Value>, Option<String>) {
    let mut reply = peer.ask(&format!(r#"{{"kind":"list"{fields}}}"#));
    assert_eq!(reply["kind"], "list", "{reply}");
    assert_eq!(reply["more"] == true, reply["next"].is_string(), "{reply}");
    let next = reply["next"].as_str().map(str::to_owned);
    match reply["tasks"].take() {
        Value::Array(tasks) => (tasks, next),
        other => panic!("{other} is no list"),
    }
}

/// All pages of a list.
fn whole(peer: &mut Peer, fields: &str) -> Vec<Value> {
    let mut all = Vec::new();
    let mut after = String::new();
    loop {
        let (tasks, next) = list(peer, &format!("{fields}{after}"));
        all.extend(tasks);
        match next {
            Some(next) => after = format!(r#","after":"{next}""#),
            None => return all,
        }
    }
}

#[test]
fn get_shows_a_task_in_every_state() {
    let server = Server::start(json!({"max_attempts": 1}));
    let mut peer = server.peer();
    peer.exact(
        r#"{"kind":"get","route_key":"a","id":"x","tag":"t"}"#,
        r#"{"kind":"task","id":"x","route_key":"a","found":false,"tag":"t"}"#,
    );
    let at = later();
    peer.plan("a", "waiting", at);
    let mut waiting = get(&mut peer, "a", "waiting");
    waiting.as_object_mut().expect("it is one").remove("tag");
    assert_eq!(
        waiting,
        json!({"kind": "task", "id": "waiting", "route_key": "a", "state": "waiting",
            "fire_at": at, "due": at, "attempt": 0, "found": true})
    );
    peer.due("a", "x");
    peer.stats_until("a", |stats| stats["parked"] == 1);
    let parked = get(&mut peer, "a", "x");
    assert_eq!(
        (&parked["state"], &parked["fire_at"]),
        (&json!("parked"), &json!(1))
    );
    let due = parked["due"].as_u64().expect("it is a number");
    assert!(due > 1 && due <= now(), "it was due when it was scheduled");
    peer.register("a");
    let delivery = peer.delivery();
    let in_flight = get(&mut peer, "a", "x");
    assert_eq!(
        (&in_flight["state"], &in_flight["attempt"]),
        (&json!("in_flight"), &json!(1))
    );
    peer.send(echo("nack", &delivery));
    peer.stats_until("a", |stats| stats["dead"] == 1);
    let dead = get(&mut peer, "a", "x");
    assert_eq!(
        (&dead["state"], &dead["attempt"]),
        (&json!("dead"), &json!(1))
    );
    assert!(dead["died_at"].as_u64().expect("it is a number") >= due);
    assert!(dead["due"].is_null() && dead["reason"].is_null());
}

#[test]
fn get_shows_the_payload_on_demand() {
    let server = Server::start(json!({"max_line_bytes": 4_096}));
    let mut peer = server.peer();
    let task = schedule("a", "x", later());
    let with = |payload: &str| {
        task.replacen(
            '{',
            &format!(r#"{{"compression":"zstd","payload_base64":"{payload}","#),
            1,
        )
    };
    peer.ask(&with("aGVsbG8="));
    assert!(get(&mut peer, "a", "x")["payload_base64"].is_null());
    let whole = peer.ask(r#"{"kind":"get","route_key":"a","id":"x","payload":true}"#);
    assert_eq!(
        (&whole["payload_base64"], &whole["compression"]),
        (&json!("aGVsbG8="), &json!("zstd"))
    );
    // Its delivery fits into a line, and the longer reply does not.
    let long = with(&"AAAA".repeat(980)).replace(r#""id":"x""#, r#""id":"y""#);
    let scheduled = peer.ask(&long);
    assert_eq!(scheduled["kind"], "ack", "{scheduled}");
    peer.send(r#"{"kind":"get","route_key":"a","id":"y","payload":true}"#);
    let line = peer.line().expect("it is answered");
    assert!(line.len() <= 4_096, "{}", line.len());
    let reply: Value = serde_json::from_str(&line).expect("it is JSON");
    assert_eq!(reply["payload_bytes"], 2_940);
    assert!(reply["payload_base64"].is_null());
}

#[test]
fn a_list_is_in_order_of_time_and_in_pages() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let at = later();
    for id in 0..30_u64 {
        let route = ["a", "b", "c"][usize::try_from(id % 3).expect("it is small")];
        peer.plan(route, &id.to_string(), at + (id * 7) % 30);
    }
    let ordered = |tasks: &[Value]| {
        let due: Vec<u64> = tasks
            .iter()
            .filter_map(|task| task["due"].as_u64())
            .collect();
        assert_eq!(due.len(), tasks.len());
        assert!(due.is_sorted(), "{due:?}");
    };
    for limit in [1, 7, 1_000] {
        let tasks = whole(&mut peer, &format!(r#","state":"waiting","limit":{limit}"#));
        assert_eq!(tasks.len(), 30);
        ordered(&tasks);
        let of_one = whole(&mut peer, &format!(r#","route_key":"b","limit":{limit}"#));
        assert_eq!(of_one.len(), 10);
        assert!(of_one.iter().all(|task| task["route_key"] == "b"));
        ordered(&of_one);
    }
    let range = format!(r#","from":{},"until":{}"#, at + 5, at + 8);
    let tasks = whole(&mut peer, &range);
    let due: Vec<_> = tasks.iter().map(|task| task["due"].as_u64()).collect();
    assert_eq!(due, [Some(at + 5), Some(at + 6), Some(at + 7)]);
    assert_eq!(whole(&mut peer, r#","route_key":"other""#).len(), 0);
}

#[test]
fn a_list_has_parked_waiting_and_dead_tasks_with_their_states() {
    let server = Server::start(json!({"max_attempts": 1}));
    let mut peer = server.consumer("a");
    peer.due("a", "dead");
    let delivery = peer.delivery();
    peer.send(echo("nack", &delivery));
    peer.stats_until("a", |stats| stats["dead"] == 1);
    peer.due("a", "in flight");
    let _delivery = peer.delivery();
    peer.due("b", "parked");
    peer.stats_until("b", |stats| stats["parked"] == 1);
    peer.plan("b", "waiting", later());
    let tasks = whole(&mut peer, "");
    assert_eq!(
        all(&tasks, "id"),
        ["parked", "in flight", "waiting", "dead"]
    );
    assert_eq!(
        all(&tasks, "state"),
        ["parked", "in_flight", "waiting", "dead"]
    );
    for (state, id) in [("parked", "parked"), ("dead", "dead")] {
        let tasks = whole(&mut peer, &format!(r#","state":"{state}","payload":true"#));
        assert_eq!(all(&tasks, "id"), [id]);
        assert_eq!(tasks[0]["payload_base64"], "");
    }
    for (fields, cure) in [
        (
            r#""state":"in_flight""#,
            r#"give "waiting" or "parked" or "dead""#,
        ),
        (r#""limit":1001"#, "give a number from 1 to 1000"),
        (r#""after":"x""#, "give the `next` of the reply before"),
        (
            r#""from":2,"until":1"#,
            "give a time after from, which is 2",
        ),
    ] {
        let error = peer.ask(&format!(r#"{{"kind":"list",{fields}}}"#));
        assert_eq!(error["code"], "bad_field", "{error}");
        let message = error["message"].as_str().expect("it is a text");
        assert!(message.contains(cure), "{message}");
    }
}

#[test]
fn a_list_with_payloads_is_cut_to_fit_into_a_line() {
    let server = Server::start(json!({"max_line_bytes": 4_096}));
    let mut peer = server.peer();
    for id in 0..9 {
        let task = schedule("a", &id.to_string(), later());
        let payload = "AAAA".repeat(100 * (id % 3 + 1));
        let line = task.replacen('{', &format!(r#"{{"payload_base64":"{payload}","#), 1);
        assert_eq!(peer.ask(&line)["kind"], "ack");
    }
    let mut after = String::new();
    let mut found = Vec::new();
    loop {
        peer.send(format!(r#"{{"kind":"list","payload":true{after}}}"#));
        let line = peer.line().expect("it is answered");
        assert!(line.len() <= 4_096, "{}", line.len());
        let page: Value = serde_json::from_str(&line).expect("it is JSON");
        let tasks = page["tasks"].as_array().expect("it is a list");
        for task in tasks {
            assert!(task["payload_base64"].is_string(), "{task}");
            found.push(task["id"].to_string());
        }
        match page["next"].as_str() {
            Some(next) => after = format!(r#","after":"{next}""#),
            None => break,
        }
    }
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 9);
}

#[test]
fn the_future_counts_what_is_scheduled_and_what_is_gone() {
    const MINUTE: u64 = 60_000;
    let future = |peer: &mut Peer| {
        peer.until(
            |peer| peer.ask(r#"{"kind":"future"}"#),
            |future| future["counted_until"].is_null(),
        )
    };
    let sum = |future: &Value, name: &str| -> u64 {
        let counts = future[name].as_array().expect("it is a list");
        counts.iter().filter_map(Value::as_u64).sum()
    };
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let at = now();
    // Far from the ends of minutes, hours and days, whenever the test runs.
    for (id, ahead) in [20, 21, 30 * 60, 100 * 24 * 60].into_iter().enumerate() {
        peer.plan("a", &id.to_string(), at + ahead * MINUTE);
    }
    let counts = |future: &Value| ["minutes", "hours", "days"].map(|name| sum(future, name));
    let before = future(&mut peer);
    assert_eq!(counts(&before), [2, 3, 4]);
    let lengths = ["minutes", "hours", "days"].map(|name| before[name].as_array().map(Vec::len));
    assert_eq!(lengths, [Some(60), Some(48), Some(365)]);
    let first = before["minute"].as_u64().expect("it is a number");
    assert!(first % MINUTE == 0 && first + MINUTE > at);
    let place = usize::try_from((at + 20 * MINUTE - first) / MINUTE).expect("it is small");
    assert_eq!(before["minutes"][place], 1);
    peer.ask(r#"{"kind":"cancel","route_key":"a","id":"0"}"#);
    assert_eq!(counts(&future(&mut peer)), [1, 2, 3]);
    let server = server.restart(json!({}));
    assert_eq!(counts(&future(&mut server.peer())), [1, 2, 3]);
}

#[test]
fn dead_letters_are_filtered_by_time_and_reason_and_have_payloads() {
    let server = Server::start(json!({"max_attempts": 1}));
    let mut peer = server.consumer("a");
    for (count, id) in (1_u64..).zip(["1", "2"]) {
        let task = schedule("a", id, 1);
        peer.ask(&task.replacen('{', r#"{"payload_base64":"aGVsbG8=","#, 1));
        let delivery = peer.delivery();
        peer.send(echo("nack", &delivery));
        peer.stats_until("a", |stats| stats["dead"] == count);
    }
    let dead = |peer: &mut Peer, fields: &str| {
        let reply = peer.ask(&format!(r#"{{"kind":"dead","route_key":"a"{fields}}}"#));
        let tasks = reply["tasks"].as_array().expect("it is a list").clone();
        assert_eq!(reply["more"], false, "{reply}");
        tasks
    };
    let tasks = dead(&mut peer, r#","payload":true,"reason":"""#);
    assert_eq!(all(&tasks, "payload_base64"), ["aGVsbG8="; 2]);
    assert_eq!(all(&tasks, "compression"), ["none"; 2]);
    let died = tasks[0]["died_at"].as_u64().expect("it is a number");
    assert_eq!(dead(&mut peer, r#","reason":"other""#).len(), 0);
    assert_eq!(dead(&mut peer, &format!(r#","until":{died}"#)).len(), 0);
    assert_eq!(dead(&mut peer, &format!(r#","from":{died}"#)).len(), 2);
}
