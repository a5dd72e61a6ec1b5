//! A durable delayed-task server: clients schedule payloads for a time, and the server delivers
//! them at that time, over a long-lived connection, until they are acknowledged.
//!
//! [`run`] is the server, [`run_reloadable`] one whose configuration can change; the binary
//! `hyper-delay` adds a command line. `PROTOCOL.md` specifies the protocol, `CONFIGURATION.md` the
//! configuration.
//!
//! The default features are `cli`, the command line, and `cluster`, several nodes that keep the same
//! tasks. A program that embeds the server can turn them off with `default-features = false`, and
//! compiles fewer dependencies.
//!
//! ```text
//! connection ──line──▶ protocol ──▶ scheduler ──job──▶ committer ──▶ ledger ──▶ store
//!      ▲                                │ ▲                │
//!      └────────── replies, deliveries ─┘ └── committed ───┘
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

pub mod access;
mod authority;
pub mod config;
pub mod protocol;

mod backup;
mod clock;
#[cfg(any(feature = "cluster", test))]
mod cluster;
mod committer;
mod connection;
mod descriptors;
mod driver;
mod fjall_store;
mod forecast;
mod freshness;
mod http;
mod inflate;
mod ledger;
mod log_limit;
mod log_loss;
mod metrics;
mod outbox;
mod own_route;
mod progress;
mod record;
mod reload;
mod scheduler;
#[cfg_attr(
    not(feature = "cli"),
    allow(dead_code, reason = "only the commands make them")
)]
mod secret;
mod server;
mod shares;
mod sizes;
mod store;
mod tls;
mod trace_context;

#[cfg(feature = "cli")]
pub mod command;
#[cfg(feature = "cli")]
#[doc(hidden)]
#[cfg_attr(
    not(feature = "internals"),
    expect(unreachable_pub, reason = "`internals` re-exports it")
)]
mod load;
#[cfg(any(feature = "cli", test))]
mod salvage;

#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;

#[cfg(any(feature = "cluster", test))]
pub use server::ClusterError;
pub use server::{ServeError, ServeOptions, run, run_reloadable};
pub use store::StoreError;
pub use tls::TlsError;

/// Runs `number` cases, or as many as `PROPTEST_CASES` sets.
#[cfg(test)]
pub(crate) fn cases(number: u32) -> proptest::test_runner::Config {
    let mut config = proptest::test_runner::Config::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = number;
    }
    config
}
