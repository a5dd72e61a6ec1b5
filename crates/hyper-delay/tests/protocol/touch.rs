use std::time::{Duration, Instant};

use serde_json::json;
use testkit::request::{echo, echo_with, now};

use crate::server::Server;

#[test]
fn a_touched_delivery_is_not_sent_again_before_its_new_deadline() {
    let mut ack_timeout = 300;
    // On a slow machine the touch can come too late.
    while !is_extended(ack_timeout) {
        ack_timeout *= 2;
    }
}

/// Extends the time of a delivery. Returns false if its ack timeout passed before the touch.
fn is_extended(ack_timeout: u64) -> bool {
    let server = Server::start(json!({"ack_timeout_ms": ack_timeout, "retry_delay_ms": 1}));
    let mut peer = server.consumer("a");
    let (start, scheduled) = (Instant::now(), now());
    peer.due("a", "1");
    let delivery = peer.delivery();
    let extended = 3 * ack_timeout;
    let field = format!(r#""extend_ms":{extended}"#);
    let touched = peer.ask(&echo_with("touch", &delivery, &field));
    if touched["found"] == false {
        assert!(
            start.elapsed() >= Duration::from_millis(ack_timeout),
            "{touched}"
        );
        return false;
    }
    let deadline = touched["deadline"].as_u64().expect("it is a number");
    assert!(deadline + 1 >= scheduled + extended);
    let wanted = json!({
        "kind": "touched", "id": "1", "route_key": "a", "attempt": delivery["attempt"],
        "found": true, "deadline": deadline, "tag": touched["tag"],
    });
    assert_eq!(touched, wanted);
    let again = peer.delivery();
    assert!(again["attempt"].as_u64() > delivery["attempt"].as_u64());
    assert!(start.elapsed() >= Duration::from_millis(extended));
    true
}

#[test]
fn a_touch_of_no_delivery_finds_none_and_counts_as_no_answer() {
    let server = Server::start(json!({}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let delivery = peer.delivery();
    for (request, reply) in [
        (
            r#"{"kind":"touch","id":"2"}"#,
            r#"{"kind":"touched","id":"2","found":false}"#,
        ),
        (
            r#"{"kind":"touch","id":"1","route_key":"b","attempt":1}"#,
            r#"{"kind":"touched","id":"1","route_key":"b","attempt":1,"found":false}"#,
        ),
    ] {
        peer.exact(request, reply);
    }
    assert!(peer.removes(&delivery));
    assert_eq!(peer.ask(&echo("touch", &delivery))["found"], false);
    assert_eq!(peer.all_stats()["unknown_acks"], 0);
}

#[test]
fn the_reason_of_the_last_nack_is_that_of_the_dead_letter() {
    let server = Server::start(json!({"max_attempts": 2}));
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    for reason in ["first", r#"no \"disk\""#] {
        let delivery = peer.delivery();
        let fields = format!(r#""delay_ms":0,"reason":"{reason}""#);
        peer.send(echo_with("nack", &delivery, &fields));
    }
    // The burial is on disk before this reply.
    peer.ask(r#"{"kind":"cancel","route_key":"a","id":"none"}"#);
    let dead = peer.ask(r#"{"kind":"dead","route_key":"a"}"#);
    assert_eq!(dead["tasks"][0]["reason"], "no \"disk\"");
}
