//! Shared code of the workspace's tests, benchmarks and examples. Not published.
//!
//! It depends on no crate of the workspace, so that each of them can use it. Only a test crate
//! knows the path of a binary (`env!("CARGO_BIN_EXE_…")`), so it passes the path in.

#![allow(
    clippy::missing_panics_doc,
    reason = "a failed expectation ends the test"
)]

pub mod bench;
pub mod browser;
pub mod etcd;
pub mod example;
pub mod http;
mod loopback;
pub mod output;
pub mod peer;
pub mod process;
pub mod request;
pub mod server;
pub mod small;
pub mod terms;
pub mod wire;

use std::time::Duration;

pub use browser::Browser;
pub use etcd::Etcd;
pub use loopback::loopback;
pub use peer::Peer;
pub use process::{Ended, Process};
pub use server::{Server, Start};
pub use wire::Wire;

/// The time after which a test gives up on an event that must happen, on a machine of any speed.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Returns how many cases of a random test run: `number`, or as many as `PROPTEST_CASES` sets.
#[must_use]
pub fn cases(number: u32) -> u32 {
    let set = std::env::var("PROPTEST_CASES").ok();
    set.and_then(|set| set.parse().ok()).unwrap_or(number)
}
