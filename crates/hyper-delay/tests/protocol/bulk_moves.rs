//! `run_now_all` and `reschedule_all`.

use serde_json::{Value, json};
use testkit::{
    Peer,
    request::{echo_with, later, now},
};

use crate::server::Server;

/// Sends a move of the tasks of route `a`, and waits for its end. Returns the job.
fn moved(peer: &mut Peer, kind: &str, fields: &str) -> Value {
    let begun = peer.ask(&format!(r#"{{"kind":"{kind}","route_key":"a"{fields}}}"#));
    assert_eq!(
        (&begun["kind"], &begun["act"]),
        (&json!("job"), &json!(kind)),
        "{begun}"
    );
    let number = begun["job"].clone();
    let find = |peer: &mut Peer| {
        let jobs = peer.ask(r#"{"kind":"jobs"}"#);
        let mut jobs = jobs["jobs"].as_array().expect("a list").iter();
        let job = jobs.find(|job| job["job"] == number);
        job.cloned().unwrap_or_default()
    };
    let ended = peer.until(find, |job| job["state"] != "running");
    assert_eq!(ended["state"], "done", "{ended}");
    ended
}

fn count(peer: &mut Peer, kind: &str, fields: &str) -> Value {
    let reply = peer.ask(&format!(
        r#"{{"kind":"{kind}","route_key":"a"{fields},"dry_run":true}}"#
    ));
    assert_eq!(reply["kind"], "count", "{reply}");
    reply["tasks"].clone()
}

fn due(peer: &mut Peer, id: &str) -> u64 {
    let task = peer.ask(&format!(r#"{{"kind":"get","id":"{id}","route_key":"a"}}"#));
    task["due"].as_u64().expect("it is there")
}

/// A server with two tasks that have failed for each of these reasons, and one that waits.
fn failed(reasons: &[&str]) -> (Server, Peer) {
    let server =
        Server::start(json!({"retry_delay_ms": 3_600_000, "max_retry_delay_ms": 3_600_000}));
    let mut peer = server.peer();
    let mut consumer = server.consumer("a");
    for reason in reasons {
        for copy in ["1", "2"] {
            consumer.due("a", &format!("{reason} {copy}"));
            let delivery = consumer.delivery();
            let field = format!(r#""reason":"{reason}""#);
            consumer.send(echo_with("nack", &delivery, &field));
        }
    }
    let all = 2 * reasons.len();
    consumer.stats_until("a", |stats| stats["retrying"] == all);
    consumer.plan("a", "waits", later());
    drop(consumer);
    peer.stats_until("a", |stats| stats["consumers"] == 0);
    (server, peer)
}

#[test]
fn tasks_that_failed_for_a_reason_run_now() {
    let (server, mut peer) = failed(&["down", "bad"]);
    for (fields, tasks) in [
        ("", 5),
        (r#","state":"waiting""#, 5),
        (r#","state":"parked""#, 0),
        (r#","state":"retrying""#, 4),
        (r#","state":"retrying","reason":"down""#, 2),
        (r#","reason":"down""#, 2),
        (r#","state":"parked","reason":"down""#, 0),
        (r#","reason":"""#, 0),
        (r#","from":5"#, 5),
        (r#","until":5"#, 0),
        (r#","state":"retrying","until":5"#, 0),
    ] {
        assert_eq!(count(&mut peer, "run_now_all", fields), tasks, "{fields}");
    }
    let before = now();
    let job = moved(
        &mut peer,
        "run_now_all",
        r#","state":"retrying","reason":"down""#,
    );
    assert_eq!(job["changed"], 2);
    assert_eq!(
        (
            &job["task_state"],
            &job["reason"],
            &job["due"],
            &job["until"]
        ),
        (
            &json!("retrying"),
            &json!("down"),
            &Value::Null,
            &Value::Null
        )
    );
    for id in ["down 1", "down 2"] {
        assert!((before..before + 60_000).contains(&due(&mut peer, id)));
    }
    assert!(due(&mut peer, "bad 1") > before + 60_000);
    // They keep their failures until they are done.
    let stats = peer.stats("a");
    assert_eq!(stats["retrying"], 4, "{stats}");
    let mut consumer = server.consumer("a");
    for _ in 0..2 {
        let delivery = consumer.delivery();
        assert!(delivery["id"].as_str().unwrap().starts_with("down "));
        assert_eq!(delivery["attempt"], 2);
        assert!(consumer.removes(&delivery));
    }
    consumer.quiet();
    let again = moved(&mut peer, "run_now_all", r#","reason":"down""#);
    assert_eq!(again["changed"], 0);
}

#[test]
fn due_times_move_to_a_time_or_by_some_time_over_a_restart() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let at = later();
    for id in 0..3 {
        peer.plan("a", &id.to_string(), at + id);
    }
    peer.plan("b", "0", at);
    let job = moved(
        &mut peer,
        "reschedule_all",
        &format!(r#","shift_ms":500,"from":{}"#, at + 1),
    );
    assert_eq!(
        (&job["changed"], &job["shift_ms"]),
        (&json!(2), &json!(500))
    );
    let job = moved(
        &mut peer,
        "reschedule_all",
        &format!(r#","due":{},"until":{}"#, at + 9, at + 1),
    );
    assert_eq!((&job["changed"], &job["due"]), (&json!(1), &json!(at + 9)));
    drop(peer);
    let server = server.restart(json!({}));
    let mut peer = server.peer();
    let times: Vec<u64> = ["0", "1", "2"].map(|id| due(&mut peer, id)).into();
    assert_eq!(times, [at + 9, at + 501, at + 502]);
    // The same schedule changes nothing.
    peer.plan("a", "1", at + 1);
    assert_eq!(due(&mut peer, "1"), at + 501);
    let audit = peer.ask(r#"{"kind":"audit"}"#);
    let lines = audit["lines"].as_array().unwrap();
    let filters: Vec<_> = lines
        .iter()
        .map(|line| (&line["act"], &line["tasks"], &line["shift_ms"]))
        .collect();
    let (act, none) = (json!("reschedule_all"), Value::Null);
    let (done, two, shift) = (json!("done"), json!(2), json!(500));
    assert_eq!(filters[2..], [(&done, &two, &shift), (&act, &none, &shift)]);
}

#[test]
fn tasks_in_flight_and_those_that_would_expire_stay() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.due("a", "flies");
    let delivery = peer.delivery();
    let at = later();
    let expires = testkit::request::schedule("a", "expires", at);
    peer.send(expires.replacen('{', &format!(r#"{{"expires_at":{},"#, at + 1_000), 1));
    peer.kind("ack");
    peer.plan("a", "waits", at);
    let job = moved(&mut peer, "reschedule_all", r#","shift_ms":1000"#);
    assert_eq!(job["changed"], 1);
    assert_eq!(
        (due(&mut peer, "expires"), due(&mut peer, "waits")),
        (at, at + 1_000)
    );
    let job = moved(&mut peer, "reschedule_all", r#","shift_ms":999"#);
    assert_eq!(job["changed"], 2);
    assert!(peer.removes(&delivery));
}

#[test]
fn a_move_beyond_max_delay_days_is_refused() {
    let server = Server::start(json!({"max_delay_days": 1}));
    let mut peer = server.peer();
    for fields in [
        format!(r#""due":{}"#, now() + 86_500_000),
        r#""shift_ms":86400001"#.to_owned(),
    ] {
        let line = format!(r#"{{"kind":"reschedule_all","route_key":"a",{fields}}}"#);
        assert_eq!(peer.code(&line), "bad_field");
    }
    let jobs = peer.ask(r#"{"kind":"jobs"}"#);
    assert_eq!(jobs["jobs"], json!([]));
}

#[test]
fn a_dry_run_refuses_what_the_operation_refuses() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    for (field, name) in [
        (r#""due":9007199254740992"#, "due is 9007199254740992"),
        (
            r#""shift_ms":9007199254740992"#,
            "shift_ms is 9007199254740992",
        ),
    ] {
        for dry_run in ["", r#","dry_run":true"#] {
            let line = format!(r#"{{"kind":"reschedule_all","route_key":"a",{field}{dry_run}}}"#);
            let refused = peer.ask(&line);
            assert_eq!(refused["code"], "bad_field", "{refused}");
            assert_eq!(refused["route_key"], "a");
            let message = refused["message"].as_str().unwrap();
            assert!(message.starts_with(name), "{message}");
        }
    }
}
