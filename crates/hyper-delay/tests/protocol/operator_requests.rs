//! Pauses, bulk operations, jobs and the audit.

use serde_json::{Value, json};
use testkit::{
    Peer,
    request::{all, echo, later, now},
};

use crate::server::Server;

/// Starts a server with this many dead letters of route `a`.
fn graves(count: usize) -> (Server, Peer) {
    let server = Server::start(json!({"max_attempts": 1, "credit": 2_000}));
    let mut peer = server.peer();
    bury(&server, count);
    peer.stats_until("a", |stats| {
        stats["dead"] == count && stats["consumers"] == 0
    });
    (server, peer)
}

fn bury(server: &Server, count: usize) {
    let mut consumer = server.consumer("a");
    for id in 0..count {
        consumer.send(testkit::request::schedule("a", &id.to_string(), 1));
    }
    for _ in 0..count {
        let delivery = consumer.delivery();
        consumer.send(echo("nack", &delivery));
    }
    consumer.stats_until("a", |stats| stats["dead"] == count);
}

fn jobs(peer: &mut Peer) -> Vec<Value> {
    let mut reply = peer.ask(r#"{"kind":"jobs"}"#);
    match reply["jobs"].take() {
        Value::Array(jobs) => jobs,
        other => panic!("{other} is no list"),
    }
}

/// Waits until a job has ended, and returns it.
fn ended(peer: &mut Peer, job: &Value) -> Value {
    assert_eq!(job["kind"], "job", "{job}");
    let number = job["job"].clone();
    peer.until(
        |peer| {
            let mut jobs = jobs(peer).into_iter();
            jobs.find(|job| job["job"] == number).unwrap_or_default()
        },
        |job| job["state"] != "running",
    )
}

fn audit(peer: &mut Peer, fields: &str) -> Vec<Value> {
    let mut reply = peer.ask(&format!(r#"{{"kind":"audit"{fields}}}"#));
    match reply["lines"].take() {
        Value::Array(lines) => lines,
        other => panic!("{other} is no list"),
    }
}

#[test]
fn a_paused_route_delivers_nothing_over_a_restart_and_then_in_order_of_time() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.due("a", "in flight");
    let delivery = peer.delivery();
    peer.exact(
        r#"{"kind":"pause","route_key":"a","tag":"t"}"#,
        r#"{"kind":"paused","route_key":"a","changed":true,"tag":"t"}"#,
    );
    peer.exact(
        r#"{"kind":"pause","route_key":"a"}"#,
        r#"{"kind":"paused","route_key":"a","changed":false}"#,
    );
    assert!(peer.removes(&delivery), "what is in flight goes on");
    peer.due("a", "2");
    peer.plan("a", "1", 0);
    let stats = peer.stats_until("a", |stats| stats["parked"] == 2);
    assert_eq!(stats["paused"], true);
    peer.quiet();
    drop(peer);
    let server = server.restart(json!({}));
    let mut peer = server.consumer("a");
    peer.due("a", "3");
    peer.stats_until("a", |stats| stats["parked"] == 3);
    peer.quiet();
    peer.exact(
        r#"{"kind":"resume","route_key":"a"}"#,
        r#"{"kind":"resumed","route_key":"a","changed":true}"#,
    );
    let ids: Vec<Value> = (0..3).map(|_| peer.delivery()["id"].clone()).collect();
    assert_eq!(ids, ["2", "1", "3"], "in the order in which they were due");
    let stats = peer.stats("a");
    assert!(stats["paused"].is_null(), "{stats}");
    peer.exact(
        r#"{"kind":"resume","route_key":"a"}"#,
        r#"{"kind":"resumed","route_key":"a","changed":false}"#,
    );
}

#[test]
fn a_paused_route_without_tasks_is_in_the_stats() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.ask(r#"{"kind":"pause","route_key":"empty"}"#);
    let stats = peer.all_stats();
    assert_eq!(stats["routes"][0]["route_key"], "empty");
    assert_eq!(stats["routes"][0]["paused"], true);
    for route in 1..1_000 {
        let reply = peer.ask(&format!(r#"{{"kind":"pause","route_key":"{route}"}}"#));
        assert_eq!(reply["changed"], true, "{reply}");
    }
    assert_eq!(
        peer.code(r#"{"kind":"pause","route_key":"more"}"#),
        "too_many_routes"
    );
    let again = peer.ask(r#"{"kind":"pause","route_key":"empty"}"#);
    assert_eq!(again["changed"], false);
}

#[test]
fn only_a_dead_task_is_deleted() {
    let (_server, mut peer) = graves(2);
    peer.plan("a", "waiting", later());
    for id in ["waiting", "unknown"] {
        peer.exact(
            &format!(r#"{{"kind":"delete","id":"{id}","route_key":"a"}}"#),
            &format!(r#"{{"kind":"deleted","id":"{id}","route_key":"a","found":false}}"#),
        );
    }
    peer.exact(
        r#"{"kind":"delete","id":"1","route_key":"a"}"#,
        r#"{"kind":"deleted","id":"1","route_key":"a","found":true}"#,
    );
    let stats = peer.stats("a");
    assert_eq!((&stats["dead"], &stats["waiting"]), (&json!(1), &json!(1)));
    // The name is free at once.
    peer.plan("a", "1", later());
}

#[test]
fn everything_that_matches_is_counted_then_kicked_or_deleted() {
    const COUNT: usize = 1_203;
    let (server, mut peer) = graves(COUNT);
    let count = |peer: &mut Peer, request: &str| {
        let reply = peer.ask(&request.replacen('{', r#"{"dry_run":true,"#, 1));
        assert_eq!(reply["kind"], "count", "{reply}");
        (reply["tasks"].clone(), reply["more"].clone())
    };
    let all_of = r#"{"kind":"kick_all","route_key":"a"}"#;
    assert_eq!(count(&mut peer, all_of), (json!(COUNT), json!(false)));
    let unreadable = r#"{"kind":"delete_all","route_key":"a","reason":"unreadable"}"#;
    assert_eq!(count(&mut peer, unreadable), (json!(0), json!(false)));
    let job = peer.ask(unreadable);
    let job = ended(&mut peer, &job);
    assert_eq!(
        (&job["state"], &job["changed"]),
        (&json!("done"), &json!(0))
    );
    assert_eq!(peer.stats("a")["dead"], COUNT);

    let begun = peer.ask(all_of);
    assert_eq!(begun["state"], "running", "{begun}");
    assert_eq!(
        (&begun["act"], &begun["route_key"]),
        (&json!("kick_all"), &json!("a"))
    );
    assert!(
        begun["address"]
            .as_str()
            .is_some_and(|it| it.starts_with("127.0.0.1:"))
    );
    let job = ended(&mut peer, &begun);
    assert_eq!(
        (&job["state"], &job["changed"]),
        (&json!("done"), &json!(COUNT))
    );
    assert!(job["ended_at"].as_u64() >= job["began_at"].as_u64());
    peer.stats_until("a", |stats| stats["parked"] == COUNT);

    // They die again, and are removed for good.
    let mut consumer = server.consumer("a");
    for _ in 0..COUNT {
        let delivery = consumer.delivery();
        assert_eq!(delivery["attempt"], 2);
        consumer.send(echo("nack", &delivery));
    }
    peer.stats_until("a", |stats| stats["dead"] == COUNT);
    let none = r#"{"kind":"delete_all","route_key":"a","reason":""}"#;
    assert_eq!(count(&mut peer, none), (json!(COUNT), json!(false)));
    let job = peer.ask(none);
    assert_eq!(ended(&mut peer, &job)["changed"], COUNT);
    let stats = peer.all_stats();
    assert_eq!((&stats["dead"], &stats["waiting"]), (&json!(0), &json!(0)));
}

#[test]
fn a_kick_of_all_leaves_what_dies_later() {
    let (server, mut peer) = graves(3);
    let mut consumer = server.consumer("a");
    let job = peer.ask(r#"{"kind":"kick_all","route_key":"a"}"#);
    for _ in 0..3 {
        let delivery = consumer.delivery();
        consumer.send(echo("nack", &delivery));
    }
    assert_eq!(ended(&mut peer, &job)["changed"], 3);
    peer.stats_until("a", |stats| stats["dead"] == 3);
    consumer.quiet();
    let past = now() - 3_600_000;
    let job = peer.ask(&format!(
        r#"{{"kind":"kick_all","route_key":"a","until":{past}}}"#
    ));
    assert_eq!(ended(&mut peer, &job)["changed"], 0);
}

#[test]
fn a_purge_removes_all_but_what_is_in_flight() {
    let (server, mut peer) = graves(3);
    let mut consumer = server.peer();
    consumer.register_with("a", r#""credit":1"#);
    consumer.due("a", "in flight");
    let delivery = consumer.delivery();
    for id in 0..600 {
        peer.plan("a", &format!("waiting {id}"), later());
    }
    peer.due("b", "other");
    let count = peer.ask(r#"{"kind":"purge","route_key":"a","dry_run":true}"#);
    assert_eq!(count["tasks"], 604);
    let job = peer.ask(r#"{"kind":"purge","route_key":"a"}"#);
    let job = ended(&mut peer, &job);
    assert_eq!(
        (&job["state"], &job["changed"]),
        (&json!("done"), &json!(603))
    );
    let stats = peer.all_stats();
    assert_eq!(
        [&stats["dead"], &stats["in_flight"], &stats["parked"]],
        [&json!(0), &json!(1), &json!(1)]
    );
    assert!(consumer.removes(&delivery));
    consumer.due("a", "again");
    let delivery = consumer.delivery();
    let job = peer.ask(r#"{"kind":"purge","route_key":"a","in_flight":true}"#);
    assert_eq!(ended(&mut peer, &job)["changed"], 1);
    assert!(!consumer.removes(&delivery));
    let job = peer.ask(r#"{"kind":"purge","route_key":"b"}"#);
    assert_eq!(ended(&mut peer, &job)["changed"], 1);
    assert_eq!(peer.all_stats()["routes"].as_array().map(Vec::len), Some(1));
}

#[test]
fn other_requests_go_on_during_a_bulk_operation() {
    const COUNT: usize = 5_000;
    let server = Server::start(json!({"max_attempts": 1, "credit": 5_000}));
    bury(&server, COUNT);
    let mut peer = server.peer();
    let mut consumer = server.consumer("busy");
    let job = peer.ask(r#"{"kind":"delete_all","route_key":"a"}"#);
    let mut served = 0;
    let mut states = Vec::new();
    // Each round needs several commits; the operation takes ten.
    while served < 20 {
        consumer.due("busy", &served.to_string());
        let delivery = consumer.delivery();
        assert!(consumer.removes(&delivery));
        served += 1;
        states.extend(
            jobs(&mut peer)
                .into_iter()
                .map(|job| job["changed"].as_u64()),
        );
    }
    assert_eq!(ended(&mut peer, &job)["changed"], COUNT);
    assert!(states.is_sorted(), "{states:?}");
}

#[test]
fn a_job_can_be_stopped_and_is_found_in_the_list() {
    let (_server, mut peer) = graves(1);
    peer.exact(
        r#"{"kind":"stop","job":9}"#,
        r#"{"kind":"stopped","job":9,"found":false}"#,
    );
    let job = peer.ask(r#"{"kind":"delete_all","route_key":"a"}"#);
    ended(&mut peer, &job);
    let number = job["job"].as_u64().expect("it is a number");
    peer.exact(
        &format!(r#"{{"kind":"stop","job":{number}}}"#),
        &format!(r#"{{"kind":"stopped","job":{number},"found":false}}"#),
    );
    let second = peer.ask(r#"{"kind":"purge","route_key":"a"}"#);
    ended(&mut peer, &second);
    let acts: Vec<_> = jobs(&mut peer)
        .into_iter()
        .map(|job| job["act"].clone())
        .collect();
    assert_eq!(acts, ["purge", "delete_all"], "the newest first");
}

#[test]
fn dead_letters_are_grouped_by_reason() {
    let (_server, mut peer) = graves(7);
    let reply =
        r#"{"kind":"reasons","reasons":[{"route_key":"a","reason":"","tasks":7}],"more":false}"#;
    peer.exact(r#"{"kind":"reasons","route_key":"a"}"#, reply);
    peer.exact(r#"{"kind":"reasons"}"#, reply);
    peer.exact(
        r#"{"kind":"reasons","route_key":"b"}"#,
        r#"{"kind":"reasons","reasons":[],"more":false}"#,
    );
}

#[test]
fn what_operators_change_is_in_the_audit_over_a_restart() {
    let (server, mut peer) = graves(3);
    let start = now() - 600_000;
    peer.ask(r#"{"kind":"kick","route_key":"a","id":"0"}"#);
    peer.ask(r#"{"kind":"kick","route_key":"a","id":"unknown"}"#);
    peer.ask(r#"{"kind":"delete","route_key":"a","id":"1"}"#);
    peer.ask(r#"{"kind":"pause","route_key":"b"}"#);
    peer.ask(r#"{"kind":"resume","route_key":"b"}"#);
    let job = peer.ask(r#"{"kind":"delete_all","route_key":"a","reason":"","from":7}"#);
    let number = ended(&mut peer, &job)["job"].clone();
    let expected = ["done", "delete_all", "resume", "pause", "delete", "kick"];
    let check = |peer: &mut Peer| {
        let lines = audit(peer, "");
        assert_eq!(all(&lines, "act"), expected);
        let numbers: Vec<_> = lines.iter().map(|line| line["number"].as_u64()).collect();
        assert_eq!(numbers, (1..=6).rev().map(Some).collect::<Vec<_>>());
        assert_eq!((&lines[0]["job"], &lines[0]["tasks"]), (&number, &json!(1)));
        for line in &lines[..2] {
            let filter = (&line["reason"], &line["from"], &line["until"]);
            assert_eq!(filter, (&json!(""), &json!(7), &job["until"]), "{line}");
        }
        assert_eq!(lines[2].get("reason"), None);
        assert_eq!(
            (&lines[5]["id"], &lines[5]["route_key"]),
            (&json!("0"), &json!("a"))
        );
        assert!(lines.iter().all(|line| line["at"].as_u64() > Some(start)));
        for line in &lines[1..] {
            assert!(
                line["address"]
                    .as_str()
                    .is_some_and(|it| it.starts_with("127.0.0.1:"))
            );
        }
        let older = audit(peer, r#","before":3,"limit":1"#);
        assert_eq!(all(&older, "act"), ["delete"]);
    };
    check(&mut peer);
    drop(peer);
    let server = server.restart(json!({}));
    check(&mut server.peer());
}
