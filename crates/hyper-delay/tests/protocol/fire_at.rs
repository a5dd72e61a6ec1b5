use serde_json::json;
use testkit::request::{echo_with, later, now};

use crate::server::Server;

fn with(fire_at: &str) -> String {
    format!(r#"{{"kind":"schedule","route_key":"a","fire_at":{fire_at}}}"#)
}

#[test]
fn fire_at_may_be_a_number_or_its_digits() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let at = later();
    for fire_at in [format!("{at}"), format!("\"{at}\"")] {
        let ack = peer.ask(&with(&fire_at));
        assert_eq!((&ack["kind"], &ack["fire_at"]), (&json!("ack"), &json!(at)));
    }
}

#[test]
fn any_other_fire_at_is_refused() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    for fire_at in [
        "-1",
        "-0",
        "1.5",
        "1.0",
        "1e12",
        "9007199254740993",
        "99999999999999999999999999",
        "true",
        "[]",
        "{}",
        r#""""#,
        r#""-1""#,
        r#""+1""#,
        r#"" 1""#,
        r#""1.0""#,
        r#""1e3""#,
        r#""tomorrow""#,
        r#""9007199254740993""#,
    ] {
        assert_eq!(peer.code(&with(fire_at)), "bad_field", "{fire_at}");
    }
    assert_eq!(peer.code(&with("null")), "missing_field");
}

#[test]
fn seconds_in_place_of_milliseconds_are_refused() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let seconds = (now() / 1000).to_string();
    for fire_at in [
        "100000000",
        "99999999999",
        &seconds,
        &format!("\"{seconds}\""),
    ] {
        peer.send(with(fire_at));
        let error = peer.kind("error");
        assert_eq!(error["code"], "bad_field", "{fire_at}");
        let message = error["message"].as_str().expect("a message");
        let value = fire_at.trim_matches('"');
        assert!(message.contains(value), "{message}");
        assert!(message.contains("multiply it by 1000"), "{message}");
    }
    for fire_at in ["99999999", "100000000000"] {
        assert_eq!(peer.ask(&with(fire_at))["kind"], "ack", "{fire_at}");
    }
}

#[test]
fn a_past_time_is_due_now_and_is_kept() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    for fire_at in [0, 1, now() - 1, now()] {
        peer.ask(&with(&fire_at.to_string()));
        assert_eq!(peer.delivery()["fire_at"], fire_at);
    }
}

fn delayed(id: &str, delay_ms: u64, fields: &str) -> String {
    format!(
        r#"{{"kind":"schedule","route_key":"a","id":"{id}","delay_ms":{delay_ms},"payload_base64":"aGk="{fields}}}"#
    )
}

#[test]
fn a_delay_stands_in_place_of_fire_at_and_its_first_time_stays_over_a_restart() {
    let server = Server::start(json!({"max_delay_days": 2}));
    let mut peer = server.peer();
    let before = now();
    let line = delayed("1", 100_000, "");
    let fire_at = peer.ask(&line)["fire_at"].as_u64().unwrap();
    assert!((before + 100_000..=now() + 100_000).contains(&fire_at));
    let server = server.restart(json!({"max_delay_days": 2}));
    let mut peer = server.peer();
    let replace = delayed("1", 100_000, r#","replace":true"#);
    for again in [&line, &replace] {
        assert_eq!(peer.ask(again)["fire_at"], fire_at);
    }
    let at_that_time = line.replace("\"delay_ms\":100000", &format!("\"fire_at\":{fire_at}"));
    assert_eq!(peer.code(&at_that_time), "duplicate_id");
    assert_eq!(peer.code(&delayed("1", 100_001, "")), "duplicate_id");
    let seen = peer.ask(r#"{"kind":"get","route_key":"a","id":"1"}"#);
    assert_eq!(
        (&seen["fire_at"], &seen["due"]),
        (&json!(fire_at), &json!(fire_at))
    );
    let replaced = delayed("1", 0, r#","replace":true"#);
    assert!(peer.ask(&replaced)["fire_at"].as_u64().unwrap() <= now());
}

#[test]
fn a_delay_is_limited_and_ends_before_the_task_expires() {
    let server = Server::start(json!({"max_delay_days": 2}));
    let mut peer = server.peer();
    let most = 2 * 86_400_000;
    assert_eq!(peer.code(&delayed("1", most + 1, "")), "bad_field");
    assert_eq!(peer.ask(&delayed("1", most, ""))["kind"], "ack");
    let expires_at = format!(r#","expires_at":{}"#, now() + 60_000);
    peer.send(delayed("2", 120_000, &expires_at));
    let error = peer.kind("error");
    assert_eq!(error["code"], "bad_field");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("after the end of delay_ms, which is "),
        "{message}"
    );
    assert_eq!(peer.code(&delayed("2", 1, r#","fire_at":0"#)), "bad_field");
    assert_eq!(peer.ask(&delayed("2", 30_000, &expires_at))["kind"], "ack");
}

#[test]
fn a_finished_task_is_acknowledged_with_the_time_of_the_request() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    let line = delayed("1", 1, "");
    peer.ask(&line);
    let delivery = peer.delivery();
    peer.send(echo_with("ack", &delivery, r#""confirm":true"#));
    peer.kind("acked");
    let before = now();
    let fire_at = peer.ask(&line)["fire_at"].as_u64().unwrap();
    assert!((before..=now()).contains(&fire_at));
    peer.quiet();
}

#[test]
fn a_time_beyond_max_delay_days_is_refused() {
    let server = Server::start(json!({"max_delay_days": 2}));
    let mut peer = server.peer();
    let most = now() + 2 * 86_400_000;
    assert_eq!(peer.code(&with("9007199254740992")), "bad_field");
    assert_eq!(peer.code(&with(&(most + 60_000).to_string())), "bad_field");
    assert_eq!(peer.ask(&with(&most.to_string()))["kind"], "ack");
    let most = 2 * 86_400_000;
    let nack = |delay| format!(r#"{{"kind":"nack","id":"1","delay_ms":{delay}}}"#);
    assert_eq!(peer.code(&nack(most + 1)), "bad_field");
    peer.send(nack(most));
    peer.quiet();
}

#[test]
fn a_time_in_rfc_3339_is_that_of_its_milliseconds_rounded_up() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let task = |at: &str, expires_at: &str| {
        format!(
            r#"{{"kind":"schedule","route_key":"a","id":"1","fire_at":{at},"expires_at":{expires_at}}}"#
        )
    };
    let first = peer.ask(&task(
        r#""2030-01-31T08:00:00.0001+01:00""#,
        r#""2030-01-31T09:00:00Z""#,
    ));
    let (at, expires_at) = (1_896_073_200_001_u64, 1_896_080_400_000_u64);
    assert_eq!(
        (&first["kind"], &first["fire_at"]),
        (&json!("ack"), &json!(at))
    );
    // The same content, so it is acknowledged and changes nothing.
    let again = peer.ask(&task(&at.to_string(), &expires_at.to_string()));
    assert_eq!(again["kind"], "ack");
    assert_eq!(
        peer.code(&task(&(at + 1).to_string(), &expires_at.to_string())),
        "duplicate_id"
    );
    let list = peer.ask(
        r#"{"kind":"list","from":"2030-01-31T07:00:00.001Z","until":"2030-01-31T07:00:00.002Z"}"#,
    );
    let listed = &list["tasks"][0];
    assert_eq!(
        (&listed["fire_at"], &listed["expires_at"]),
        (&json!(at), &json!(expires_at))
    );
    let list = peer.ask(r#"{"kind":"list","until":"2030-01-31T07:00:00.001Z"}"#);
    assert_eq!(list["tasks"], json!([]));
}

#[test]
fn a_time_in_rfc_3339_is_refused_with_the_cure() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    for (fire_at, cure) in [
        ("2030-01-31T08:00:00", "give its offset"),
        (
            "2030-01-31T08:00:00+01:00[Europe/Berlin]",
            "leave out the zone",
        ),
        ("2030-02-30T08:00:00Z", "give a time that exists"),
        ("1960-01-31T08:00:00Z", "0 means now"),
        (
            "9000-01-31T08:00:00Z",
            "(9000-01-31T08:00:00Z), more than max_delay_days ahead: give at most ",
        ),
    ] {
        let error = peer.ask(&with(&format!("\"{fire_at}\"")));
        assert_eq!(error["code"], "bad_field", "{fire_at}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains(cure), "{message}");
    }
}
