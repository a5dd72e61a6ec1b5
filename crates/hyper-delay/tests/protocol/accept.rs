//! The compressions that a consumer accepts.

use std::{fs, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use testkit::Peer;

use crate::server::Server;

/// A payload of the fixtures in base64.
fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/payloads");
    STANDARD.encode(fs::read(folder.join(name)).expect("it is a fixture"))
}

/// A server whose lines are long enough for the text of the fixtures.
fn start() -> Server {
    Server::start(json!({"max_line_bytes": 131_072}))
}

/// Schedules a due task.
fn schedule(peer: &mut Peer, id: &str, compression: &str, payload: &str) {
    let reply = peer.ask(&format!(
        r#"{{"kind":"schedule","id":"{id}","route_key":"a","fire_at":1,"compression":"{compression}","payload_base64":"{payload}"}}"#
    ));
    assert_eq!(reply["kind"], "ack", "{reply}");
}

/// Asserts what the next delivery has, and acknowledges it.
fn delivers(peer: &mut Peer, id: &str, compression: &str, payload: &str) {
    let delivery = peer.delivery();
    assert_eq!(
        (&delivery["id"], &delivery["compression"]),
        (&json!(id), &json!(compression))
    );
    assert!(
        delivery["payload_base64"] == payload,
        "the payload of {id} is another one"
    );
    assert!(peer.removes(&delivery));
}

fn dead(peer: &mut Peer) -> Value {
    peer.ask(r#"{"kind":"dead","route_key":"a"}"#)["tasks"].take()
}

#[test]
fn compressed_payloads_are_delivered_as_they_are_by_default() {
    let server = start();
    let mut peer = server.consumer("a");
    for name in ["linked.lz4", "checked.zst"] {
        let (payload, label) = (fixture(name), label(name));
        schedule(&mut peer, name, label, &payload);
        delivers(&mut peer, name, label, &payload);
    }
    // Not even compressed.
    schedule(&mut peer, "label", "lz4", "aGVsbG8=");
    delivers(&mut peer, "label", "lz4", "aGVsbG8=");
}

fn label(name: &str) -> &'static str {
    match name.ends_with(".lz4") {
        true => "lz4",
        false => "zstd",
    }
}

#[test]
fn a_consumer_that_accepts_none_gets_payloads_decompressed() {
    let server = start();
    let mut peer = server.peer();
    let registered = peer.register_with("a", r#""accept":["none"]"#);
    assert_eq!(registered["kind"], "registered", "{registered}");
    let text = fixture("text");
    for name in [
        "linked.lz4",
        "independent.lz4",
        "checked.zst",
        "streamed.zst",
    ] {
        schedule(&mut peer, name, label(name), &fixture(name));
        delivers(&mut peer, name, "none", &text);
    }
    schedule(&mut peer, "plain", "none", "aGVsbG8=");
    delivers(&mut peer, "plain", "none", "aGVsbG8=");
}

#[test]
fn only_what_a_consumer_does_not_accept_is_decompressed() {
    let server = start();
    let mut peer = server.peer();
    let (text, lz4, zstd) = (
        fixture("text"),
        fixture("linked.lz4"),
        fixture("checked.zst"),
    );
    for (accept, of_lz4, of_zstd) in [
        (r#"["lz4"]"#, ("lz4", &lz4), ("none", &text)),
        (r#"["none","zstd"]"#, ("none", &text), ("zstd", &zstd)),
        (r#"["zstd","lz4"]"#, ("lz4", &lz4), ("zstd", &zstd)),
    ] {
        peer.register_with("a", &format!(r#""accept":{accept}"#));
        for (label, payload, (delivered, content)) in
            [("lz4", &lz4, of_lz4), ("zstd", &zstd, of_zstd)]
        {
            let id = accept.replace('"', "") + label;
            schedule(&mut peer, &id, label, payload);
            delivers(&mut peer, &id, delivered, content);
        }
    }
}

#[test]
fn the_last_registration_that_names_compressions_applies_to_the_connection() {
    let server = start();
    let mut peer = server.peer();
    let (text, lz4) = (fixture("text"), fixture("linked.lz4"));
    peer.register_with("a", r#""accept":["none"]"#);
    // Without the field, and when it is refused, nothing changes.
    peer.register("b");
    peer.register_with("a", r#""accept":null"#);
    let refused = r#"{"kind":"register","route_key":"a","accept":["lz4","gzip"]}"#;
    assert_eq!(peer.code(refused), "bad_field");
    schedule(&mut peer, "1", "lz4", &lz4);
    delivers(&mut peer, "1", "none", &text);
    // Of another route.
    peer.register_with("c", r#""accept":["none","lz4","zstd"]"#);
    schedule(&mut peer, "2", "lz4", &lz4);
    delivers(&mut peer, "2", "lz4", &lz4);
    // Of another connection.
    let mut other = server.peer();
    other.register_with("b", r#""accept":["none"]"#);
    schedule(&mut peer, "3", "lz4", &lz4);
    delivers(&mut peer, "3", "lz4", &lz4);
}

#[test]
fn a_registration_that_is_refused_for_its_route_does_not_change_what_is_accepted() {
    let server = Server::start(json!({"max_line_bytes": 131_072, "max_routes_per_connection": 1}));
    let mut peer = server.consumer("a");
    let refused = r#"{"kind":"register","route_key":"b","accept":["none"]}"#;
    assert_eq!(peer.code(refused), "too_many_routes");
    let lz4 = fixture("linked.lz4");
    schedule(&mut peer, "1", "lz4", &lz4);
    delivers(&mut peer, "1", "lz4", &lz4);
}

#[test]
fn a_payload_that_does_not_decompress_becomes_a_dead_letter_with_a_reason() {
    let server = start();
    let mut peer = server.peer();
    peer.register_with("a", r#""accept":["none"]"#);
    schedule(&mut peer, "1", "lz4", "aGVsbG8=");
    peer.stats_until("a", |stats| stats["dead"] == 1);
    let letters = dead(&mut peer);
    assert_eq!(letters[0]["id"], "1");
    assert_eq!(letters[0]["attempt"], 1);
    let reason = "the payload is not one whole lz4 frame: it does not begin as one";
    assert_eq!(letters[0]["reason"], reason);
    peer.quiet();
    // Its credit is free, and other tasks are delivered.
    schedule(&mut peer, "2", "zstd", &fixture("checked.zst"));
    delivers(&mut peer, "2", "none", &fixture("text"));
    // A consumer that accepts its compression gets it after a kick.
    peer.register_with("a", r#""accept":["lz4"]"#);
    let kicked = peer.ask(r#"{"kind":"kick","id":"1","route_key":"a"}"#);
    assert_eq!(kicked["found"], true);
    delivers(&mut peer, "1", "lz4", "aGVsbG8=");
    assert_eq!(dead(&mut peer), json!([]));
}

#[test]
fn a_payload_that_is_too_long_when_decompressed_becomes_a_dead_letter_with_a_reason() {
    // Room for the text with its line, and for less.
    for (max_line_bytes, fits) in [(131_072, true), (65_536, false)] {
        let server = Server::start(json!({ "max_line_bytes": max_line_bytes }));
        let mut peer = server.peer();
        peer.register_with("a", r#""accept":["none"]"#);
        schedule(&mut peer, "text", "zstd", &fixture("checked.zst"));
        if fits {
            delivers(&mut peer, "text", "none", &fixture("text"));
        }
        for (id, name) in [("1", "zeros.lz4"), ("2", "zeros.zst")] {
            schedule(&mut peer, id, label(name), &fixture(name));
        }
        let count = if fits { 2 } else { 3 };
        peer.stats_until("a", |stats| stats["dead"] == count);
        for letter in dead(&mut peer).as_array().expect("it is a list") {
            let reason = letter["reason"].as_str().expect("it has one");
            let text = " payload, decompressed, does not fit into a delivery: accept ";
            assert!(reason.contains(text), "{reason}");
        }
        peer.quiet();
    }
}
