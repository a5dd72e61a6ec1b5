//! `due` in deliveries: when a round was due, if that is another time than `fire_at`.

use serde_json::{Value, json};
use testkit::{
    Peer,
    request::{echo, later, now},
};

use crate::server::Server;

fn due(task: &Value) -> u64 {
    task["due"]
        .as_u64()
        .unwrap_or_else(|| panic!("{task} has no due time"))
}

fn get(peer: &mut Peer, id: &str) -> Value {
    peer.ask(&format!(r#"{{"kind":"get","route_key":"a","id":"{id}"}}"#))
}

#[test]
fn a_delivery_that_was_due_at_its_fire_at_has_no_due() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    let at = now() + 50;
    peer.plan("a", "1", at);
    let delivery = peer.delivery();
    assert_eq!(delivery["fire_at"], at);
    assert_eq!(delivery.get("due"), None, "{delivery}");
}

#[test]
fn a_past_fire_at_is_due_when_the_server_took_the_schedule() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    let before = now();
    peer.due("a", "1");
    let delivery = peer.delivery();
    assert!((before..=now()).contains(&due(&delivery)), "{delivery}");
    assert_eq!(get(&mut peer, "1")["due"], delivery["due"]);
}

#[test]
fn a_retry_has_its_own_time_and_keeps_it_while_it_is_parked() {
    let server = Server::start(json!({"retry_delay_ms": 200}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let first = peer.delivery();
    peer.send(echo("nack", &first));
    let second = peer.delivery();
    assert!(due(&second) >= due(&first) + 100, "{second} after {first}");
    assert_eq!(second["fire_at"], first["fire_at"]);
    peer.send(echo("nack", &second));
    peer.ask(r#"{"kind":"unregister","route_key":"a"}"#);
    peer.stats_until("a", |stats| stats["parked"] == 1);
    let parked = get(&mut peer, "1");
    peer.register("a");
    let third = peer.delivery();
    assert_eq!(third["attempt"], 3);
    assert_eq!(third["due"], parked["due"]);
}

#[test]
fn a_moved_task_has_the_time_to_which_it_was_moved() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    let fire_at = later();
    for (id, request) in [
        ("1", r#""kind":"run_now""#.to_owned()),
        ("2", format!(r#""kind":"reschedule","due":{}"#, now() + 100)),
    ] {
        peer.plan("a", id, fire_at);
        let moved = peer.ask(&format!(r#"{{{request},"route_key":"a","id":"{id}"}}"#));
        assert_eq!(moved["moved"], true, "{moved}");
        let delivery = peer.delivery();
        assert_eq!(delivery["fire_at"], fire_at);
        assert_eq!(due(&delivery), due(&moved), "{request}");
    }
}
