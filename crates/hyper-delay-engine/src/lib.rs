//! The engine of hyper-delay: which task is delivered to which consumer, and when, and what is
//! written to the store for it. No sockets, no runtime and no disk.
//!
//! The [`scheduler`] is a state machine without threads and clock: it is told what has happened and
//! what time it is, and returns messages and jobs. The [`committer`] collects jobs into groups, the
//! [`ledger`] turns a group into one batch, and a store of `hyper-delay-store` takes it.
//! [`metrics`] counts what happens, and the [`forecast`] what waits.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod authority;
pub mod clock;
pub mod committer;
pub mod forecast;
pub mod ledger;
pub mod log_loss;
pub mod metrics;
pub mod pulse;
pub mod scheduler;
pub mod sizes;
