use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{
    PATIENCE, Peer, http,
    request::{echo, later, schedule},
};

use crate::server::{ALL, Server, auth};

fn server(quotas: Value) -> Server {
    let config = json!({"tokens": null, "quotas": quotas, "http_addr": "127.0.0.1:0"});
    Server::configured(config, []).0
}

/// Schedules this many tasks in one write, and returns the replies.
fn flood(peer: &mut Peer, route: &str, first: usize, count: usize) -> Vec<Value> {
    let at = later();
    let lines = (first..first + count).map(|id| schedule(route, &id.to_string(), at) + "\n");
    peer.raw(lines.collect::<String>());
    let ids = (first..first + count).map(|id| id.to_string());
    ids.map(|id| peer.find(|line| line["id"] == id)).collect()
}

/// The number of accepted schedules. The others were refused with this message.
fn accepted(replies: &[Value], message: &str) -> usize {
    let is_accepted = |reply: &&Value| reply["kind"] == "ack";
    for refused in replies.iter().filter(|reply| !is_accepted(reply)) {
        assert_eq!(refused["code"], "quota", "{refused}");
        let text = refused["message"].as_str().unwrap();
        assert!(text.starts_with(message), "{text}");
    }
    replies.iter().filter(is_accepted).count()
}

#[test]
fn pending_tasks_of_each_route_are_limited_exactly() {
    let server = server(json!({"mail*": {"pending": 3}}));
    let mut peer = server.peer();
    // Within one batch, too.
    let replies = flood(&mut peer, "mail", 0, 100);
    let message = "pending of route \"mail\" is 3 (quotas, key \"mail*\"), and it has";
    assert_eq!(accepted(&replies, message), 3);
    assert!(replies[..3].iter().all(|reply| reply["kind"] == "ack"));
    assert_eq!(
        accepted(&flood(&mut peer, "mail-2", 0, 10), "pending"),
        3,
        "another route"
    );
    assert_eq!(
        accepted(&flood(&mut peer, "pay", 0, 10), ""),
        10,
        "a route without quotas"
    );
    let error = peer.ask(&schedule("mail", "new", later()));
    assert_eq!(error["code"], "quota");
    assert_eq!(
        (&error["id"], &error["route_key"]),
        (&json!("new"), &json!("mail"))
    );
    let metrics = http::get(server.http(), "/metrics").body;
    let counted = r#"hyper_delay_refusals_total{reason="quota"} 105"#;
    assert!(metrics.contains(counted), "{metrics}");
}

#[test]
fn what_is_stored_already_is_no_new_task() {
    let server = server(json!({"mail": {"pending": 1}}));
    let mut peer = server.peer();
    let (at, other) = (later(), later() + 1_000);
    peer.plan("mail", "1", at);
    peer.plan("mail", "1", at);
    assert_eq!(peer.code(&schedule("mail", "1", other)), "duplicate_id");
    let replace = schedule("mail", "1", other).replacen('{', r#"{"replace":true,"#, 1);
    assert_eq!(peer.ask(&replace)["kind"], "ack");
    assert_eq!(peer.code(&schedule("mail", "2", at)), "quota");
    let cancelled = peer.ask(r#"{"kind":"cancel","route_key":"mail","id":"1"}"#);
    assert_eq!(cancelled["found"], true);
    // A parked task is pending, too, and one that is done is not.
    peer.due("mail", "3");
    peer.stats_until("mail", |stats| stats["parked"] == 1);
    assert_eq!(peer.code(&schedule("mail", "4", at)), "quota");
    peer.register("mail");
    let delivery = peer.delivery();
    assert!(peer.removes(&delivery));
    peer.due("mail", "3");
    peer.plan("mail", "4", at);
}

#[test]
fn schedules_per_second_of_a_route_are_limited() {
    let server = server(json!({"mail": {"schedules_per_second": 5}}));
    let mut peer = server.peer();
    let start = Instant::now();
    let replies = flood(&mut peer, "mail", 0, 200);
    let most = 5 + (start.elapsed().as_secs_f64() * 5.0).ceil() as usize;
    let message = "schedules_per_second of route \"mail\" is 5 (quotas, key \"mail\")";
    let accepted_of_mail = accepted(&replies, message);
    assert!(
        (5..=most).contains(&accepted_of_mail),
        "{accepted_of_mail} of {most}"
    );
    assert!(replies[..5].iter().all(|reply| reply["kind"] == "ack"));
    assert_eq!(accepted(&flood(&mut peer, "pay", 0, 200), ""), 200);
    let later = later();
    let ask = |peer: &mut Peer| peer.ask(&schedule("mail", "again", later));
    peer.until(ask, |reply| reply["kind"] == "ack");
}

#[test]
fn deliveries_are_held_back_and_come_in_their_order() {
    let server = server(json!({"mail": {"deliveries_per_second": 10}}));
    let mut producer = server.peer();
    for id in 0..30 {
        producer.plan("mail", &id.to_string(), 1 + id);
    }
    let start = Instant::now();
    let mut consumer = server.consumer("mail");
    let mut other = server.consumer("pay");
    for id in 0..30 {
        let delivery = consumer.delivery();
        assert_eq!(delivery["id"], id.to_string());
        consumer.send(echo("ack", &delivery));
        if id == 12 {
            // Another route is not held back.
            producer.due("pay", "1");
            other.delivery();
        }
    }
    // A second's worth came at once, and the others evenly.
    let taken = start.elapsed();
    assert!(taken >= Duration::from_millis(1_990), "{taken:?}");
    assert!(taken < PATIENCE);
    consumer.stats_until("mail", |stats| {
        *stats == Value::Null || stats["waiting"] == 0
    });
}

/// A schedule with a payload of this length.
fn with_payload(id: &str, length: usize) -> String {
    let payload = format!(r#"{{"payload_base64":"{}","#, "AAAA".repeat(length / 3));
    schedule("mail", id, later()).replacen('{', &payload, 1)
}

#[test]
fn bytes_of_pending_payloads_are_limited_over_a_restart() {
    let quotas = json!({"*": {"pending_bytes": 900}});
    let server = server(quotas.clone());
    let mut peer = server.peer();
    assert_eq!(peer.ask(&with_payload("1", 600))["kind"], "ack");
    let error = peer.ask(&with_payload("2", 303));
    assert_eq!(error["code"], "quota");
    let message = error["message"].as_str().unwrap();
    let start = "pending_bytes of route \"mail\" is 900 (quotas, key \"*\"), and with this payload";
    assert!(message.starts_with(start), "{message}");
    // Within one batch, too.
    peer.raw(format!(
        "{}\n{}\n",
        with_payload("3", 300),
        with_payload("4", 3)
    ));
    assert_eq!(peer.find(|line| line["id"] == "3")["kind"], "ack");
    assert_eq!(peer.find(|line| line["id"] == "4")["code"], "quota");
    assert_eq!(peer.ask(&schedule("mail", "empty", later()))["kind"], "ack");
    let replace =
        |id: &str, length| with_payload(id, length).replacen('{', r#"{"replace":true,"#, 1);
    assert_eq!(peer.ask(&replace("3", 303))["code"], "quota");
    assert_eq!(peer.ask(&replace("3", 297))["kind"], "ack");

    server.signal("TERM");
    let Server { running, directory } = server;
    assert!(running.ended().0.success());
    let server = Server::again(directory, json!({"tokens": null, "quotas": quotas}));
    let mut peer = server.peer();
    assert_eq!(peer.ask(&with_payload("5", 6))["code"], "quota");
    assert_eq!(peer.ask(&with_payload("5", 3))["kind"], "ack");
    let cancel = peer.ask(r#"{"kind":"cancel","route_key":"mail","id":"1"}"#);
    assert_eq!(cancel["found"], true);
    assert_eq!(peer.ask(&with_payload("6", 600))["kind"], "ack");
}

#[test]
fn pending_tasks_of_a_token_are_limited_over_its_routes() {
    let (server, [token, other]) = Server::with([(&["schedule"], &["mail*"]), ALL]);
    let mut file: Value = serde_json::from_str(&server.directory.tokens()).unwrap();
    file["tokens"][0]["pending"] = json!(3);
    server.directory.write_tokens(&file.to_string());
    server.reload();
    let mut free = server.peer_with(&other);
    assert_eq!(accepted(&flood(&mut free, "mail-0", 0, 1), ""), 1);
    assert_eq!(accepted(&flood(&mut free, "pay", 0, 9), ""), 9);
    let mut peer = server.peer_with(&token);
    let message = "pending of the token is 3, and its routes have as many tasks: wait";
    assert_eq!(accepted(&flood(&mut peer, "mail-1", 10, 1), message), 1);
    assert_eq!(accepted(&flood(&mut peer, "mail-2", 20, 50), message), 1);
    let cancel = free.ask(r#"{"kind":"cancel","route_key":"mail-0","id":"0"}"#);
    assert_eq!(cancel["found"], true);
    assert_eq!(accepted(&flood(&mut peer, "mail-3", 30, 50), message), 1);
    assert_eq!(accepted(&flood(&mut free, "mail-4", 40, 5), ""), 5);
}

#[test]
fn pending_bytes_of_a_token_are_limited_over_its_routes() {
    let (server, [token, other]) = Server::with([(&["schedule"], &["mail*"]), ALL]);
    let mut file: Value = serde_json::from_str(&server.directory.tokens()).unwrap();
    file["tokens"][0]["pending_bytes"] = json!(900);
    server.directory.write_tokens(&file.to_string());
    server.reload();
    let on = |route: &str, id: &str, length| {
        with_payload(id, length).replace(r#""mail""#, &format!("{route:?}"))
    };
    let mut free = server.peer_with(&other);
    assert_eq!(free.ask(&on("mail-0", "0", 300))["kind"], "ack");
    assert_eq!(free.ask(&on("pay", "0", 9_000))["kind"], "ack");
    let mut peer = server.peer_with(&token);
    assert_eq!(peer.ask(&on("mail-1", "1", 600))["kind"], "ack");
    let error = peer.ask(&on("mail-2", "2", 3));
    assert_eq!(error["code"], "quota", "{error}");
    assert_eq!(
        (&error["id"], &error["route_key"]),
        (&json!("2"), &json!("mail-2"))
    );
    let message = error["message"].as_str().unwrap();
    let wanted = "pending_bytes of the token is 900, and with this payload the tasks of its routes";
    assert!(message.starts_with(wanted), "{message}");
    // A payload that takes no room is taken, and the quota is of this token only.
    assert_eq!(peer.ask(&on("mail-2", "2", 0))["kind"], "ack");
    assert_eq!(free.ask(&on("mail-3", "3", 9_000))["kind"], "ack");
    for (route, id) in [("mail-0", "0"), ("mail-3", "3")] {
        let cancel = format!(r#"{{"kind":"cancel","route_key":"{route}","id":"{id}"}}"#);
        assert_eq!(free.ask(&cancel)["found"], true);
    }
    assert_eq!(peer.ask(&on("mail-4", "4", 300))["kind"], "ack");
    assert_eq!(peer.code(&on("mail-4", "5", 3)), "quota");
}

#[test]
fn retries_and_kick_are_not_refused_while_pending_is_full() {
    let config = json!({
        "tokens": null, "quotas": {"mail": {"pending": 1, "pending_bytes": 3}},
        "max_attempts": 2, "retry_delay_ms": 1,
    });
    let server = Server::configured(config, []).0;
    let mut peer = server.consumer("mail");
    peer.send(
        r#"{"kind":"schedule","id":"1","route_key":"mail","fire_at":1,"payload_base64":"AAAA"}"#,
    );
    for attempt in 1..=2 {
        let delivery = peer.delivery();
        assert_eq!(delivery["attempt"], attempt);
        assert_eq!(peer.code(&schedule("mail", "2", later())), "quota");
        peer.send(echo("nack", &delivery));
    }
    peer.stats_until("mail", |stats| stats["dead"] == 1);
    // A dead letter does not count. Another task has the room now.
    assert_eq!(peer.ask(&with_payload("2", 3))["kind"], "ack");
    assert_eq!(peer.code(&schedule("mail", "3", later())), "quota");
    let kicked = peer.ask(r#"{"kind":"kick","route_key":"mail","id":"1"}"#);
    assert_eq!(kicked["found"], true, "{kicked}");
    let delivery = peer.delivery();
    assert_eq!(
        (&delivery["id"], &delivery["attempt"]),
        (&json!("1"), &json!(3))
    );
    assert!(peer.removes(&delivery));
    assert_eq!(peer.code(&schedule("mail", "3", later())), "quota");
}

#[test]
fn reload_changes_quotas() {
    let config =
        json!({"tokens": null, "quotas": {"mail": {"pending": 1, "deliveries_per_second": 1}}});
    let (server, []) = Server::configured(config, []);
    let mut peer = server.peer();
    assert_eq!(accepted(&flood(&mut peer, "mail", 0, 3), "pending"), 1);
    let more = json!({"*": {"pending": 2}});
    server
        .directory
        .configure(json!({"tokens": null, "quotas": more}));
    server.reload();
    assert_eq!(accepted(&flood(&mut peer, "mail", 10, 3), "pending"), 1);
    server.directory.configure(json!({"tokens": null}));
    server.reload();
    assert_eq!(accepted(&flood(&mut peer, "mail", 20, 100), ""), 100);
}

#[test]
fn schedules_per_second_of_a_token_are_counted_over_its_connections() {
    let (server, [token, other]) = Server::with([ALL, ALL]);
    let mut file: Value = serde_json::from_str(&server.directory.tokens()).unwrap();
    file["tokens"][0]["schedules_per_second"] = json!(3);
    server.directory.write_tokens(&file.to_string());
    server.reload();
    let mut one = server.peer_with(&token);
    let mut two = server.peer();
    two.send(auth(&token));
    two.kind("authenticated");
    let start = Instant::now();
    let message = "the token \"token 1\" may schedule 3 tasks per second: send it again";
    let mut count = accepted(&flood(&mut one, "mail", 0, 50), message);
    assert!(count >= 3);
    count += accepted(&flood(&mut two, "pay", 0, 50), message);
    let most = 3 + (start.elapsed().as_secs_f64() * 3.0).ceil() as usize;
    assert!(count <= most, "{count} of {most}");
    let mut free = server.peer_with(&other);
    assert_eq!(accepted(&flood(&mut free, "mail", 100, 50), ""), 50);
}
