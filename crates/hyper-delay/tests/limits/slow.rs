use serde_json::{Value, json};
use testkit::{Peer, request::schedule};

use crate::server::Server;

/// The number of tasks that fill the buffers of a socket many times over.
const LARGE: usize = 300;

/// A consumer that reads nothing, with more deliveries than its socket holds.
fn stuck(server: &Server) -> Peer {
    let mut stuck = server.peer();
    stuck.register_with("stuck", r#""credit":65535"#);
    let mut producer = server.peer();
    let payload = "A".repeat(60_000);
    for id in 0..LARGE {
        let line = schedule("stuck", &id.to_string(), 1);
        let line = line.replacen('{', &format!(r#"{{"payload_base64":"{payload}","#), 1);
        assert_eq!(producer.ask(&line)["kind"], "ack");
    }
    assert_eq!(producer.stats("stuck")["in_flight"], LARGE);
    stuck
}

#[test]
fn a_consumer_that_does_not_read_delays_no_other() {
    let server = Server::start(json!({"ack_timeout_ms": 3_600_000}));
    let mut stuck = stuck(&server);
    let mut free = server.consumer("free");
    let mut producer = server.peer();
    for id in 0..100 {
        producer.due("free", &id.to_string());
        let delivery = free.delivery();
        assert_eq!(delivery["id"], id.to_string());
        assert!(free.removes(&delivery));
        producer.quiet();
    }
    // The deliveries of the stuck consumer are not lost.
    for id in 0..LARGE {
        let delivery = stuck.delivery();
        assert_eq!(delivery["id"], id.to_string());
        assert!(stuck.removes(&delivery));
    }
    stuck.quiet();
}

#[test]
#[ignore = "takes half a minute"]
fn a_connection_that_reads_nothing_for_30_seconds_is_closed() {
    let server = Server::start(json!({"ack_timeout_ms": 3_600_000, "retry_delay_ms": 1}));
    let _stuck = stuck(&server);
    let mut other = server.peer();
    other.until(
        |peer| {
            std::thread::sleep(std::time::Duration::from_millis(100));
            peer.all_stats()
        },
        |stats| stats["connections"] == 1,
    );
    other.register_with("stuck", r#""credit":65535"#);
    for _ in 0..LARGE {
        assert_eq!(other.delivery()["attempt"], 2);
    }
}

#[test]
fn a_client_that_sends_byte_by_byte_is_answered_and_delays_no_other() {
    let server = Server::start(json!({}));
    let mut slow = server.peer();
    let mut other = server.consumer("a");
    let line = schedule("b", "slow", 1);
    for (place, byte) in line.bytes().enumerate() {
        slow.raw([byte]);
        // Another task is delivered between two bytes.
        other.due("a", &place.to_string());
        let delivery: Value = other.delivery();
        assert!(other.removes(&delivery));
    }
    slow.raw("\n");
    assert_eq!(slow.kind("ack")["id"], "slow");
}
