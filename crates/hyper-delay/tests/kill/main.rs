//! The server as a process: kills at random moments, and signals.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod audit;
mod book;
mod bulk;
mod consumer;
mod content;
mod harness;
mod producer;
mod signals;
mod stopped;
mod touch;
mod world;

use std::path::Path;

use serde_json::json;
use testkit::Start;

/// The server with timeouts so short that retries happen within a test.
fn start(directory: &Path) -> Start<'_> {
    Start::new(env!("CARGO_BIN_EXE_hyper-delay"), directory).config(json!({
        "data_dir": "data",
        "ack_timeout_ms": 1_500,
        "retry_delay_ms": 20,
        "max_retry_delay_ms": 200,
        "window_ms": 1_000,
        "dedupe_seconds": 100_000,
        "hedge": {"north": 20, "south": 300},
    }))
}
