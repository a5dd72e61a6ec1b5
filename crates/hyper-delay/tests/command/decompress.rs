//! Compressed payloads: `--decompress`, and what the log has.

use std::{fs, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use testkit::{Peer, request::later};

use crate::process::Server;

fn fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/payloads");
    fs::read(folder.join(name)).unwrap()
}

/// A server whose lines are long enough for the text of the fixtures, and a connection to it.
fn start(config: Value) -> (Server, Peer) {
    let mut fields = json!({"max_line_bytes": 131_072});
    let more = config.as_object().unwrap().clone();
    fields.as_object_mut().unwrap().extend(more);
    let server = Server::start(fields);
    let peer = server.running.peer();
    (server, peer)
}

fn schedule(peer: &mut Peer, id: &str, compression: &str, payload: &[u8]) {
    let payload = STANDARD.encode(payload);
    let reply = peer.ask(&format!(
        r#"{{"kind":"schedule","id":"{id}","route_key":"a","fire_at":1,"compression":"{compression}","payload_base64":"{payload}"}}"#
    ));
    assert_eq!(reply["kind"], "ack", "{reply}");
}

#[test]
fn listen_prints_payloads_as_they_are_stored_or_decompressed() {
    let (server, mut peer) = start(json!({}));
    let (payload, text) = (fixture("checked.zst"), fixture("text"));
    for (line, compression, field, printed) in [
        (
            &["listen", "a", "--count", "1", "--json"][..],
            "zstd",
            "payload_base64",
            STANDARD.encode(&payload),
        ),
        (
            &["listen", "a", "--count", "1", "--json", "--decompress"],
            "none",
            "payload",
            String::from_utf8(text).unwrap(),
        ),
    ] {
        schedule(&mut peer, compression, "zstd", &payload);
        let heard = server.run(line).done();
        let heard: Value = serde_json::from_str(&heard).unwrap();
        assert_eq!(heard["compression"], compression);
        assert!(heard[field] == *printed, "{line:?}");
    }
}

#[test]
fn the_log_names_a_payload_that_cannot_be_decompressed() {
    let (server, mut peer) = start(json!({}));
    peer.register_with("a", r#""accept":["none"]"#);
    schedule(&mut peer, "order-17", "lz4", b"a secret");
    let line = server.running.logs("a payload cannot be decompressed");
    for part in [
        " WARN ",
        r#"task "order-17" on route "a": the payload is not one whole lz4 frame"#,
    ] {
        assert!(line.contains(part), "{line}");
    }
    assert!(!server.running.log().contains("secret"));
    let dead = server.run(&["dead", "a"]).done();
    assert!(dead.contains("not one whole lz4 frame"), "{dead}");
}

#[test]
fn a_copy_of_a_hedged_round_that_was_sent_can_still_be_acknowledged() {
    let (server, mut busy) = start(json!({"hedge": {"a": 1}}));
    busy.register_with("b", r#""accept":["none"]"#);
    busy.due("b", "keeps it busy");
    let _unanswered = busy.delivery();
    busy.register("a");
    // The consumer with fewer deliveries in flight gets the first copy.
    let mut first = server.running.peer();
    first.register("a");
    schedule(&mut first, "1", "lz4", b"no frame");
    let delivery = first.delivery();
    assert_eq!(delivery["compression"], "lz4");
    server.running.logs("a payload cannot be decompressed");
    assert!(first.removes(&delivery));
    assert_eq!(
        busy.ask(r#"{"kind":"dead","route_key":"a"}"#)["tasks"],
        json!([])
    );
    busy.quiet();
}

#[test]
fn get_prints_a_payload_decompressed() {
    let server = Server::start(json!({"max_line_bytes": 131_072}));
    let text = fixture("text");
    let mut peer = server.running.peer();
    for (id, compression, payload) in [
        ("lz4", "lz4", fixture("rust.lz4")),
        ("zstd", "zstd", fixture("checked.zst")),
        ("bad", "zstd", b"secret".to_vec()),
    ] {
        let task = json!({"kind": "schedule", "route_key": "a", "id": id, "fire_at": later(),
            "compression": compression, "payload_base64": STANDARD.encode(payload)});
        assert_eq!(peer.ask(&task.to_string())["kind"], "ack");
    }
    let shown = |id: &str, more: &[&str]| {
        let line = [&["get", "a", id, "--payload", "--json"], more].concat();
        serde_json::from_str::<Value>(&server.run(&line).done()).unwrap()
    };
    for id in ["lz4", "zstd"] {
        assert_eq!(shown(id, &[])["compression"], id);
        let task = shown(id, &["--decompress"]);
        assert_eq!(task["compression"], "none");
        let payload = STANDARD.decode(task["payload_base64"].as_str().unwrap());
        assert!(payload.unwrap() == text, "{id}");
    }
    let line = ["get", "a", "bad", "--payload", "--decompress"];
    let failed = server.run(&line).failed(1);
    assert!(failed.contains("not one whole zstd frame"), "{failed}");
    assert!(failed.contains("leave out --decompress"), "{failed}");
    assert!(
        !failed.contains("secret"),
        "a payload is not in an error: {failed}"
    );
}
