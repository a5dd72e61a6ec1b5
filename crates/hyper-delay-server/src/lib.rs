//! The server on one machine: connections and their outboxes, TLS, HTTP, the thread of the
//! scheduler, reloads, the start and the shutdown.
//!
//! [`run`] serves. A [`frontend`] accepts [`connection`]s and requests over [`http`], and passes them
//! as events to the thread that [`driver`] runs: the scheduler of a single node, or the forwarder of
//! a node of a cluster. Replies and deliveries go to the [`outbox`] of their connection.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

mod error;
mod options;

mod accept;
mod connection_limiter;
pub mod frontend;

pub mod connection;
pub mod http;
pub mod outbox;
pub mod tls;

pub mod driver;
pub mod freshness;
pub mod replica_events;
mod single_node;
mod threads;

pub mod log_limit;
pub mod progress;
pub mod reload;
mod shutdown;

pub use error::ServeError;
pub use options::ServeOptions;
pub use single_node::{AbandonGuard, run, start_http};
