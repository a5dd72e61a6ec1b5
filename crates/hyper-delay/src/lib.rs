//! A durable delayed-task server: clients schedule payloads for a time, and the server delivers
//! them at that time, over a long-lived connection, until they are acknowledged.
//!
//! [`run`] is the server, [`run_reloadable`] one whose configuration can change; the binary
//! `hyper-delay` adds a command line. `PROTOCOL.md` specifies the protocol, `CONFIGURATION.md` the
//! configuration.
//!
//! ```text
//! connection ──line──▶ protocol ──▶ scheduler ──job──▶ committer ──▶ ledger ──▶ store
//!      ▲                                │ ▲                │
//!      └────────── replies, deliveries ─┘ └── committed ───┘
//! ```

pub mod config;
pub mod protocol;

pub mod clock;
pub mod ledger;
pub mod record;
pub mod scheduler;
pub mod store;

mod committer;
mod connection;
mod descriptors;
mod driver;
mod log_limit;
mod outbox;
mod server;

#[doc(hidden)]
pub mod salvage;

#[doc(hidden)]
pub mod load;

pub use server::{ServeError, ServeOptions, run, run_reloadable, run_with};

/// Runs `number` cases, or as many as `PROPTEST_CASES` sets.
#[cfg(test)]
pub(crate) fn cases(number: u32) -> proptest::test_runner::Config {
    let mut config = proptest::test_runner::Config::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = number;
    }
    config
}
