use serde_json::json;
use testkit::request::{echo, echo_with};

use crate::server::Server;

#[test]
fn an_ack_has_no_reply_and_removes_the_task() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    for exact in [false, true] {
        let id = exact.to_string();
        peer.due("a", &id);
        let delivery = peer.delivery();
        match exact {
            true => peer.send(echo("ack", &delivery)),
            false => peer.send(format!(r#"{{"kind":"ack","id":"{id}"}}"#)),
        }
        peer.quiet();
        peer.stats_until("a", |stats| stats["waiting"] == 0);
    }
    assert_eq!(peer.all_stats()["unknown_acks"], 0);
}

#[test]
fn an_ack_with_confirm_has_a_reply() {
    let server = Server::start(json!({"sync": "always"}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    peer.delivery();
    peer.exact(
        r#"{"kind":"ack","id":"1","confirm":true}"#,
        r#"{"kind":"acked","id":"1","route_key":"a","removed":true}"#,
    );
    assert_eq!(peer.stats("a")["waiting"], 0);
}

#[test]
fn an_ack_of_no_delivery_removes_nothing_and_is_counted() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let delivery = peer.delivery();
    let mut other = server.peer();
    // Unknown ids, other routes, other attempts, and a connection that was not given it.
    for request in [
        r#"{"kind":"ack","id":"2"}"#,
        r#"{"kind":"ack","id":"1","route_key":"b"}"#,
        r#"{"kind":"ack","id":"1","attempt":2}"#,
        r#"{"kind":"ack","id":"1","route_key":"a","attempt":4294967295}"#,
    ] {
        peer.send(request);
    }
    peer.quiet();
    assert_eq!(peer.all_stats()["unknown_acks"], 4);
    assert!(!other.removes(&delivery));
    other.send(echo("nack", &delivery));
    assert_eq!(other.all_stats()["unknown_acks"], 6);
    other.exact(
        r#"{"kind":"ack","id":"1","route_key":"a","confirm":true}"#,
        r#"{"kind":"acked","id":"1","route_key":"a","removed":false}"#,
    );
    assert_eq!(peer.stats("a")["in_flight"], 1);
    assert!(peer.removes(&delivery));
    // The task is already removed.
    assert!(!peer.removes(&delivery));
    assert_eq!(peer.all_stats()["unknown_acks"], 8);
}

#[test]
fn an_ack_of_an_older_revision_removes_nothing() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let old = peer.delivery();
    let mut producer = server.peer();
    producer.ask(&testkit::request::replace("a", "1", "aGVsbG8="));
    assert_eq!(peer.stats("a")["waiting"], 1);
    assert!(!peer.removes(&old));
    let new = peer.delivery();
    assert_eq!(
        (&new["attempt"], &new["payload_base64"]),
        (&json!(2), &json!("aGVsbG8="))
    );
    assert!(!peer.removes(&old));
    assert!(peer.removes(&new));
}

#[test]
fn an_ack_frees_credit_before_it_is_on_disk_or_after() {
    let server = Server::start(json!({"sync": "always"}));
    let mut peer = server.peer();
    peer.register_with("a", r#""credit":1"#);
    for id in 0..20 {
        server.peer().due("a", &id.to_string());
    }
    for id in 0..20 {
        let delivery = peer.delivery();
        assert_eq!(delivery["id"], id.to_string());
        peer.send(echo_with("ack", &delivery, r#""confirm":false"#));
    }
    peer.stats_until("a", |stats| stats["waiting"] == 0);
}
