//! The engine of hyper-delay decides which task is delivered to which consumer, and when, and what
//! is written to the store for it. No sockets, no runtime and no disk.
//!
//! The [`scheduler`] is a state machine without threads and clock: it takes inputs and the time, and
//! returns messages and jobs. The [`committer`] collects jobs into groups, the [`ledger`] turns a
//! group into one batch, and a store of `hyper-delay-store` takes it. [`metrics`] counts events, and
//! the [`forecast`] counts waiting tasks.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod authority;
pub mod clock;
pub mod committer;
pub mod dropped_log_lines;
pub mod forecast;
pub mod front;
mod key_hash;
mod late_copies;
pub mod ledger;
pub mod metrics;
pub mod release;
pub mod scheduler;
pub mod shard;
pub mod single_server;
pub mod sizes;
pub mod thread_progress;
