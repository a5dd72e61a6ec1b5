//! A durable delayed-task server: clients schedule payloads for a time, and the server delivers them then, over a
//! long-lived connection, until they are acknowledged.
//!
//! [`run`] is the server; the binary `hyper-delay` is this and a command line. `PROTOCOL.md` says what is spoken,
//! `CONFIGURATION.md` what can be set.
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
pub mod load;

pub use server::{ServeError, run, run_reloadable, run_with};

/// As many cases as `PROPTEST_CASES` says, or else so many.
#[cfg(test)]
pub(crate) fn cases(number: u32) -> proptest::test_runner::Config {
    let mut config = proptest::test_runner::Config::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = number;
    }
    config
}
