//! A server that is stopped for longer than an ack timeout, and continued.

use std::{thread, time::Duration};

use serde_json::{Value, json};
use testkit::{
    Peer,
    request::{echo, echo_with},
};

const ACK_TIMEOUT: Duration = Duration::from_secs(5);
const STOPPED: Duration = Duration::from_secs(6);

/// Answers that came while the server stood still are those of rounds that last.
#[test]
fn touches_and_nacks_of_the_time_in_which_it_stood_still_count() {
    const EACH: usize = 50;
    let directory = tempfile::tempdir().unwrap();
    let server = crate::start(directory.path())
        .config(json!({"ack_timeout_ms": ACK_TIMEOUT.as_millis(), "retry_delay_ms": 1}))
        .run();
    let mut peer = Peer::connect(server.address);
    peer.register("a");
    for id in 0..2 * EACH {
        peer.due("a", &id.to_string());
    }
    let deliveries: Vec<Value> = (0..2 * EACH).map(|_| peer.delivery()).collect();
    let (touched, given_back) = deliveries.split_at(EACH);
    server.signal("STOP");
    for delivery in touched {
        peer.send(echo("touch", delivery));
    }
    for delivery in given_back {
        let fields = r#""delay_ms":3600000,"reason":"no disk""#;
        peer.send(echo_with("nack", delivery, fields));
    }
    thread::sleep(STOPPED);
    server.signal("CONT");
    for _ in touched {
        let reply = peer.kind("touched");
        assert_eq!(reply["found"], true, "{reply}");
    }
    peer.stats_until("a", |stats| stats["in_flight"] == EACH);
    for delivery in touched {
        assert!(peer.removes(delivery));
    }
    peer.quiet();
    server.logs("the server stood still");
}
