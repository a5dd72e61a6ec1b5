use serde_json::json;
use testkit::request::{later, now};

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
        ("9000-01-31T08:00:00Z", "max_delay_days"),
    ] {
        let error = peer.ask(&with(&format!("\"{fire_at}\"")));
        assert_eq!(error["code"], "bad_field", "{fire_at}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains(cure), "{message}");
    }
}
