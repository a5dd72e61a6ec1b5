//! Strict connections.

use serde_json::json;
use testkit::request::schedule;

use crate::server::Server;

const STRICT: &str = r#"{"kind":"hello","protocol":2,"strict":true}"#;
const LENIENT: &str = r#"{"kind":"hello","protocol":2}"#;

/// A schedule whose payload is in a field of another name.
const MISSPELT: &str =
    r#"{"kind":"schedule","id":"1","route_key":"a","fire_at":0,"payload":"aGVsbG8="}"#;

#[test]
fn the_reply_says_whether_the_connection_is_strict() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    assert_eq!(peer.ask(STRICT)["strict"], true);
    for line in [
        LENIENT,
        r#"{"kind":"hello","protocol":2,"strict":false}"#,
        r#"{"kind":"hello","protocol":2,"strict":null}"#,
    ] {
        assert_eq!(peer.ask(line).get("strict"), None, "{line}");
    }
    let refused = r#"{"kind":"hello","protocol":2,"strict":"yes"}"#;
    assert_eq!(peer.code(refused), "bad_field");
}

#[test]
fn a_field_that_the_kind_does_not_have_is_refused_and_changes_nothing() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.ask(STRICT);
    let error = peer.ask(MISSPELT);
    assert_eq!(error["code"], "bad_field");
    assert_eq!(
        (&error["id"], &error["route_key"]),
        (&json!("1"), &json!("a"))
    );
    let message = error["message"].as_str().unwrap();
    assert!(
        message.starts_with("schedule has no field \"payload\": give only id, route_key, "),
        "{message}"
    );
    for line in [
        r#"{"kind":"ping","priority":5}"#,
        r#"{"kind":"ping","id":null}"#,
        r#"{"kind":"ping","token":"x"}"#,
        r#"{"kind":"purge","route_key":"a","dryrun":true}"#,
        r#"{"kind":"hello","protocol":2,"strikt":false}"#,
    ] {
        assert_eq!(peer.code(line), "bad_field", "{line}");
    }
    let get = r#"{"kind":"get","route_key":"a","id":"1"}"#;
    assert_eq!(peer.ask(get)["found"], false);
    assert_eq!(peer.ask(r#"{"kind":"ping"}"#)["kind"], "pong");
}

#[test]
fn strictness_holds_for_the_lines_after_the_hello() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let ping = |tag: u8| format!(r#"{{"kind":"ping","tag":"{tag}","priority":5}}"#);
    // In one piece, so that no line waits for a reply.
    let lines = [
        ping(1),
        STRICT.replace('}', r#","priority":5}"#),
        ping(2),
        r#"{"kind":"hello","protocol":0}"#.to_owned(),
        ping(3),
        LENIENT.to_owned(),
        ping(4),
    ];
    peer.send(lines.join("\n"));
    peer.finish_writing();
    let mut replies = peer.rest();
    assert_eq!(replies.len(), lines.len());
    replies.retain(|reply| reply["tag"].is_string());
    replies.sort_by_key(|reply| reply["tag"].as_str().map(str::to_owned));
    let kinds: Vec<_> = replies.iter().map(|reply| &reply["kind"]).collect();
    assert_eq!(kinds, ["pong", "error", "error", "pong"]);
}

#[test]
fn another_connection_is_not_strict() {
    let server = Server::start(json!({}));
    let (mut strict, mut other) = (server.peer(), server.peer());
    strict.ask(STRICT);
    assert_eq!(strict.code(MISSPELT), "bad_field");
    assert_eq!(other.ask(MISSPELT)["kind"], "ack");
}

#[test]
fn a_strict_connection_does_all_that_another_one_does() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    peer.ask(STRICT);
    peer.ask(r#"{"kind":"register","route_key":"a","credit":1,"mode":"shared"}"#);
    peer.send(schedule("a", "1", 1));
    assert_eq!(peer.kind("scheduled")["id"], "1");
    let delivery = peer.delivery();
    assert!(peer.removes(&delivery));
}

#[test]
fn a_route_that_ends_with_a_star_is_registered_by_its_whole_name_or_refused() {
    let server = Server::start(json!({}));
    let (mut strict, mut other) = (server.peer(), server.peer());
    let register = r#"{"kind":"register","route_key":"mail*"}"#;
    strict.ask(STRICT);
    let error = strict.ask(register);
    assert_eq!(error["code"], "bad_field");
    assert_eq!(error["route_key"], "mail*");
    assert_eq!(other.ask(register)["kind"], "registered");
    other.ask(&schedule("mailbox", "1", 1));
    other.ask(&schedule("mail*", "2", 1));
    assert_eq!(other.delivery()["id"], "2");
    other.quiet();
}
