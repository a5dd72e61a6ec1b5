//! `hyper-delay reasons`.

use serde_json::{Value, json};
use testkit::request::echo;

use crate::process::Server;

fn json_lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Makes dead letters of a route, without a reason.
fn bury(server: &Server, route: &str, ids: &[&str]) {
    let mut peer = server.running.peer();
    peer.register(route);
    for (dead, id) in (1..).zip(ids) {
        peer.due(route, id);
        let delivery = peer.delivery();
        peer.send(echo("nack", &delivery));
        peer.stats_until(route, |stats| stats["dead"] == dead);
    }
    // The server may see the end of this connection later than the next task.
    peer.ask(&format!(r#"{{"kind":"unregister","route_key":"{route}"}}"#));
}

#[test]
fn dead_letters_are_counted_by_reason() {
    let server = Server::start(json!({"max_attempts": 1}));
    bury(&server, "service-A", &["1", "2"]);
    bury(&server, "b", &["1"]);
    let mut peer = server.running.peer();
    let task = json!({"kind": "schedule", "route_key": "b", "id": "bad", "fire_at": 0,
        "compression": "lz4", "payload_base64": "AAAA"});
    peer.ask(&task.to_string());
    peer.ask(r#"{"kind":"register","route_key":"b","accept":["none"]}"#);
    peer.stats_until("b", |stats| stats["dead"] == 2);

    let shown = server.run(&["reasons"]).done();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 4, "{shown}");
    assert_eq!(lines[0], "route          dead  reason");
    assert_eq!(lines[1], "service-A         2  (none)", "the most first");
    assert!(shown.contains("\nb                 1  (none)\n"), "{shown}");
    assert!(
        shown.contains("b                 1  the payload is not one whole lz4 frame"),
        "{shown}"
    );
    let shown = server.run(&["reasons", "--route", "b", "--json"]).done();
    let reasons = json_lines(&shown);
    assert_eq!(reasons.len(), 2, "{shown}");
    for reason in &reasons {
        assert_eq!(
            (&reason["route_key"], &reason["tasks"]),
            (&json!("b"), &json!(1))
        );
    }
    assert!(reasons.iter().any(|reason| reason["reason"] == ""));
}

#[test]
fn reasons_of_more_letters_than_a_reply_counts_are_summed() {
    let server = Server::start(json!({"max_attempts": 1, "sync": "never"}));
    let mut peer = server.running.peer();
    let number = 2_100;
    for part in 0..number / 100 {
        let tags: Vec<String> = (0..100)
            .map(|id| {
                let id = part * 100 + id;
                peer.ask_later(&format!(
                    r#"{{"kind":"schedule","route_key":"a","id":"{id}","fire_at":0,"compression":"lz4","payload_base64":"AAAA"}}"#
                ))
            })
            .collect();
        for tag in tags {
            peer.answer(&tag);
        }
    }
    let consumer = server.running.peer();
    consumer.send(r#"{"kind":"register","route_key":"a","accept":["none"]}"#);
    peer.stats_until("a", |stats| stats["dead"] == number);
    let shown = server.run(&["reasons", "--json"]).done();
    let reasons = json_lines(&shown);
    assert_eq!(reasons.len(), 1, "{shown}");
    assert_eq!(reasons[0]["tasks"], number);
}
