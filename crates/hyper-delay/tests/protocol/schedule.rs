use std::collections::BTreeSet;

use serde_json::{Value, json};
use testkit::request::{later, now, schedule};

use crate::server::Server;

#[test]
fn a_schedule_is_acknowledged_with_its_names_and_time() {
    let server = Server::start(json!({"sync": "always"}));
    let at = later();
    server.peer().exact(
        &format!(
            r#"{{"kind":"schedule","id":"order-17","route_key":"service-A","fire_at":{at},"compression":"none","payload_base64":"aGVsbG8="}}"#
        ),
        &format!(r#"{{"kind":"ack","id":"order-17","route_key":"service-A","fire_at":{at}}}"#),
    );
}

#[test]
fn without_an_id_the_server_makes_a_uuid() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    let request = r#"{"kind":"schedule","route_key":"a","fire_at":1}"#;
    let ids = [(); 3].map(|()| {
        let ack = peer.ask(request);
        let id = ack["id"].as_str().expect("it is a text").to_owned();
        uuid::Uuid::parse_str(&id).expect("it is a UUID");
        assert_eq!(peer.delivery()["id"], *id);
        id
    });
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
}

#[test]
fn a_delivery_has_the_scheduled_content() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    for (place, (sent, received)) in [
        (
            r#""payload_base64":"aGVsbG8=","compression":"lz4""#,
            ("aGVsbG8=", "lz4"),
        ),
        (
            r#""payload_base64":"aGVsbG8","compression":"zstd""#,
            ("aGVsbG8=", "zstd"),
        ),
        (r#""payload_base64":"","compression":"none""#, ("", "none")),
        (r#""payload_base64":"+/+/""#, ("+/+/", "none")),
        (r#""compression":null"#, ("", "none")),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("{place}-é\\n");
        peer.ask(&format!(
            r#"{{"kind":"schedule","id":"{id}","route_key":"a","fire_at":1732616400000,{sent}}}"#
        ));
        let (payload, compression) = received;
        let line = peer.line().expect("it is delivered");
        let due = &serde_json::from_str::<Value>(&line).expect("it is JSON")["due"];
        let delivery = format!(
            r#"{{"kind":"delivery","id":"{id}","route_key":"a","fire_at":1732616400000,"due":{due},"payload_base64":"{payload}","compression":"{compression}","attempt":1}}"#
        );
        assert_eq!(line, delivery);
    }
}

#[test]
fn a_task_is_not_delivered_before_its_time() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    for id in 0..20 {
        let at = now() + 20 + id * 7;
        peer.plan("a", &id.to_string(), at);
    }
    let mut ids = BTreeSet::new();
    for _ in 0..20 {
        let delivery = peer.delivery();
        assert!(Some(now()) >= delivery["fire_at"].as_u64());
        ids.insert(delivery["id"].to_string());
    }
    // On a slow machine a task that is due when it is scheduled can overtake the one before.
    assert_eq!(ids.len(), 20);
}

#[test]
fn names_may_be_any_text() {
    let server = Server::start(json!({}));
    let mut peer = server.peer();
    let name = r#"\u0000 \" \\ \n \ud83d\ude00 日本"#;
    peer.register(name);
    peer.due(name, name);
    let delivery = peer.delivery();
    assert_eq!(delivery["id"], "\0 \" \\ \n 😀 日本");
    assert_eq!(delivery["route_key"], delivery["id"]);
    assert!(peer.removes(&delivery));
}

#[test]
fn a_task_whose_delivery_would_not_fit_into_a_line_is_refused() {
    let server = Server::start(json!({"max_line_bytes": 1024}));
    let mut peer = server.consumer("a");
    let with = |id: &str, payload: usize| {
        let payload = "A".repeat(payload);
        format!(
            r#"{{"kind":"schedule","id":"{id}","route_key":"a","fire_at":1,"payload_base64":"{payload}"}}"#
        )
    };
    let longest = (0..1024).step_by(4).take_while(|length| {
        let reply = peer.ask(&with(&length.to_string(), *length));
        if reply["kind"] == "error" {
            assert_eq!(reply["code"], "too_long");
            let message = reply["message"].as_str().expect("a message");
            assert!(message.ends_with("or raise max_line_bytes"), "{message}");
            return false;
        }
        true
    });
    // The limit applies to the line with the highest attempt.
    let longest = longest.last().expect("some are short enough");
    let line = peer
        .find(|line| line["id"] == *longest.to_string())
        .to_string();
    assert!((1012..=1015).contains(&line.len()), "{}", line.len());
    // A name with escapes takes more room in the delivery than in memory.
    let name = "\\u0001".repeat(110);
    assert_eq!(peer.code(&with(&name, 264)), "too_long");
}

#[test]
fn replies_arrive_in_the_order_of_completion() {
    let server = Server::start(json!({"sync": "always"}));
    let mut peer = server.peer();
    let tags: Vec<String> = (0..100)
        .map(|id| peer.ask_later(&schedule("a", &id.to_string(), later())))
        .collect();
    for tag in tags.iter().rev() {
        assert_eq!(peer.answer(tag)["kind"], "ack");
    }
}
