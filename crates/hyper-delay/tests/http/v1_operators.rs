//! What operators change over HTTP.

use std::time::Instant;

use serde_json::{Value, json};
use testkit::{PATIENCE, Peer, request::later};

use crate::guarded::{Guarded, call, error};

/// Makes `number` dead letters on the route `mail`.
pub(crate) fn kill(server: &Guarded, number: u64) {
    let mut consumer = server.known_peer();
    consumer.register("mail");
    for id in 0..number {
        consumer.due("mail", &format!("d{id}"));
        let delivery = consumer.delivery();
        consumer.send(testkit::request::echo("nack", &delivery));
    }
    consumer.stats_until("mail", |stats| stats["dead"] == number);
    // Its connection may be closed late: nothing else may be delivered to it and fail with it.
    let ended = consumer.ask(r#"{"kind":"unregister","route_key":"mail"}"#);
    assert_eq!(ended["kind"], "unregistered", "{ended}");
}

fn waits(peer: &mut Peer, state: &str, number: u64) {
    peer.stats_until("mail", |stats| stats[state] == number);
}

#[track_caller]
fn until(is: impl Fn() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < PATIENCE, "it never is");
    }
}

/// Waits until a job is done, and returns its row.
fn done(server: &Guarded, job: &Value) -> Value {
    let start = Instant::now();
    loop {
        assert!(start.elapsed() < PATIENCE, "it still runs");
        let jobs = server.reply("GET", "/v1/jobs", None);
        let rows = jobs["jobs"].as_array().unwrap();
        let row = rows.iter().find(|row| row["job"] == *job).unwrap();
        if row["state"] != "running" {
            return row.clone();
        }
    }
}

#[test]
fn a_route_is_paused_and_resumed() {
    let server = Guarded::start(json!({}));
    let mut consumer = server.known_peer();
    consumer.register("mail");
    let paused = server.reply("POST", "/v1/routes/mail/pause", None);
    assert_eq!(
        paused,
        json!({"kind": "paused", "route_key": "mail", "changed": true})
    );
    let again = server.reply("POST", "/v1/routes/mail/pause", Some(json!({})));
    assert_eq!(again["changed"], false);
    consumer.due("mail", "1");
    waits(&mut consumer, "parked", 1);
    // The numbers can be a moment old.
    let is_paused = || server.reply("GET", "/v1/summary", None)["routes"][0]["paused"].take();
    until(|| is_paused() == true);
    let routes = server.reply("GET", "/v1/routes", None);
    assert_eq!(routes["routes"][0]["paused"], true);
    server.reply("POST", "/v1/routes/mail/resume", None);
    assert_eq!(consumer.delivery()["id"], "1");
    until(|| is_paused() == false);
}

#[test]
fn all_dead_letters_that_match_are_counted_then_kicked_and_the_audit_names_the_token() {
    let server = Guarded::start(json!({"max_attempts": 1}));
    kill(&server, 3);
    let counted = server.reply("POST", "/v1/bulk/mail/kick", Some(json!({"dry_run": true})));
    assert_eq!(
        (&counted["kind"], &counted["tasks"]),
        (&json!("count"), &json!(3))
    );
    let none = json!({"until": 1, "dry_run": true});
    let none = server.reply("POST", "/v1/bulk/mail/kick", Some(none));
    assert_eq!(none["tasks"], 0);
    let mut peer = server.known_peer();
    waits(&mut peer, "dead", 3);
    let job = server.reply("POST", "/v1/bulk/mail/kick", None)["job"].take();
    let row = done(&server, &job);
    assert_eq!(
        (&row["state"], &row["changed"]),
        (&json!("done"), &json!(3))
    );
    waits(&mut peer, "dead", 0);
    let audit = server.reply("GET", "/v1/audit", None);
    let lines = audit["lines"].as_array().unwrap();
    let begun = lines.iter().find(|line| line["act"] == "kick_all").unwrap();
    assert_eq!(
        (&begun["by"], &begun["route_key"]),
        (&json!("ops"), &json!("mail"))
    );
    assert!(begun["address"].as_str().unwrap().starts_with("127.0.0.1:"));
    let stopped = server.call("POST", &format!("/v1/jobs/{job}/stop"), None);
    assert_eq!(error(&stopped), (404, "not_found".to_owned()));
    let bad = server.call("POST", "/v1/jobs/x/stop", None);
    assert_eq!(error(&bad), (400, "bad_field".to_owned()));
}

#[test]
fn dead_letters_are_deleted_and_a_route_is_purged() {
    let server = Guarded::start(json!({"max_attempts": 1}));
    kill(&server, 3);
    let mut peer = server.known_peer();
    server.reply("POST", "/v1/dead/mail/d0/delete", None);
    waits(&mut peer, "dead", 2);
    let again = server.call("POST", "/v1/dead/mail/d0/delete", None);
    assert_eq!(error(&again), (404, "not_found".to_owned()));
    let job = server.reply("POST", "/v1/bulk/mail/delete", None)["job"].take();
    assert_eq!(done(&server, &job)["changed"], 2);
    peer.plan("mail", "w", later());
    let job = server.reply("POST", "/v1/routes/mail/purge", None)["job"].take();
    assert_eq!(done(&server, &job)["changed"], 1);
    assert_eq!(server.call("GET", "/v1/tasks/mail/w", None).status, 404);
}

#[test]
fn an_admin_of_a_route_changes_that_route_only() {
    let server = Guarded::start(json!({}));
    for (path, status) in [
        ("/v1/routes/mail/pause", 200),
        ("/v1/routes/mail2/pause", 403),
        ("/v1/bulk/mail/kick", 200),
        ("/v1/bulk/mail2/kick", 403),
        ("/v1/bulk/mail/run_now", 200),
        ("/v1/bulk/mail2/run_now", 403),
    ] {
        let answer = call(&server, "POST", path, Some(&server.local), Some(json!({})));
        assert_eq!(answer.status, status, "{path}: {answer:?}");
    }
}

#[test]
fn no_path_of_one_dead_letter_is_the_path_of_all() {
    let server = Guarded::start(json!({"max_attempts": 1}));
    kill(&server, 3);
    let mut peer = server.known_peer();
    // What clients make of the ids `.` and `..` on the way, and of the route `.`.
    for path in [
        "/v1/dead/mail/./delete",
        "/v1/dead/mail/delete",
        "/v1/dead/delete",
        "/v1/dead/./mail/delete",
        "/v1/bulk/delete",
    ] {
        let answer = server.call("POST", path, None);
        assert!([404, 405].contains(&answer.status), "{path}: {answer:?}");
    }
    waits(&mut peer, "dead", 3);
}

#[test]
fn a_field_that_a_body_does_not_have_is_refused_and_changes_nothing() {
    let server = Guarded::start(json!({"max_attempts": 1}));
    kill(&server, 2);
    let mut peer = server.known_peer();
    for (path, field, body) in [
        (
            "/v1/dead/mail/d0/delete",
            "dry_run",
            json!({"dry_run": true}),
        ),
        ("/v1/dead/mail/d0/kick", "dry_run", json!({"dry_run": true})),
        ("/v1/bulk/mail/delete", "limit", json!({"limit": 1})),
        (
            "/v1/bulk/mail/kick",
            "in_flight",
            json!({"in_flight": true}),
        ),
        ("/v1/bulk/mail/run_now", "due", json!({"due": 5})),
        (
            "/v1/bulk/mail/reschedule",
            "id",
            json!({"due": 5, "id": "d0"}),
        ),
        ("/v1/routes/mail/purge", "dryrun", json!({"dryrun": true})),
        ("/v1/routes/mail/purge", "state", json!({"state": "dead"})),
        ("/v1/routes/mail/pause", "until", json!({"until": 5})),
        (
            "/v1/tasks",
            "replce",
            json!({"route_key": "mail", "fire_at": 0, "replce": true}),
        ),
    ] {
        let answer = server.call("POST", path, Some(body));
        assert_eq!(error(&answer), (400, "bad_field".to_owned()), "{path}");
        assert!(answer.body.contains(field), "{answer:?}");
    }
    waits(&mut peer, "dead", 2);
}
