use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;
use testkit::request::{echo, echo_with};

use crate::server::Server;

fn server() -> Server {
    Server::start(json!({"ack_timeout_ms": 300, "retry_delay_ms": 1, "max_attempts": 2}))
}

#[test]
fn a_touched_delivery_is_not_sent_again_before_its_new_deadline() {
    let server = server();
    let mut peer = server.consumer("a");
    peer.due("a", "1");
    let delivery = peer.delivery();
    let start = Instant::now();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let touched = peer.ask(&echo_with("touch", &delivery, r#""extend_ms":900"#));
    let deadline = touched["deadline"].as_u64().unwrap();
    assert!(u128::from(deadline) + 1 >= now.as_millis() + 900);
    let wanted = json!({
        "kind": "touched", "id": "1", "route_key": "a", "attempt": 1, "found": true,
        "deadline": deadline, "tag": touched["tag"],
    });
    assert_eq!(touched, wanted);
    assert_eq!(peer.delivery()["attempt"], 2);
    assert!(start.elapsed() >= Duration::from_millis(900));
}

#[test]
fn a_touch_of_no_delivery_finds_none_and_counts_as_no_answer() {
    let server = server();
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
    let server = server();
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
