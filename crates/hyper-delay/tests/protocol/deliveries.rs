//! Deliveries on a machine of any speed.
//!
//! A copy whose ack timeout passes before it is written is never sent.

use std::time::Instant;

use serde_json::Value;
use testkit::{PATIENCE, Peer, request::echo_with};

/// Ack timeouts in milliseconds, for tests in which one must pass. If a copy was not sent in time,
/// the test is repeated with the next one.
pub(crate) const ACK_TIMEOUTS: [u64; 3] = [300, 3_000, 30_000];

/// Returns the deliveries that come before the reply to a ping.
pub(crate) fn received(peer: &mut Peer) -> Vec<Value> {
    let ping = peer.ask_later(r#"{"kind":"ping"}"#);
    let mut deliveries = Vec::new();
    loop {
        let line = peer.find(|line| line["kind"] == "delivery" || line["tag"] == ping);
        if line["kind"] == "pong" {
            return deliveries;
        }
        deliveries.push(line);
    }
}

/// Takes deliveries until one is touched in time. Its round outlasts the test.
pub(crate) fn hold(peer: &mut Peer) {
    let start = Instant::now();
    loop {
        let delivery = peer.delivery();
        let touch = echo_with("touch", &delivery, r#""extend_ms":3600000"#);
        if peer.ask(&touch)["found"] == true {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{delivery} is not extended");
    }
}
