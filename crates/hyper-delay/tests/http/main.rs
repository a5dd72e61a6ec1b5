//! Health and metrics over HTTP, in bytes.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod exposition;
mod guarded;
mod server;
mod starting;

mod cardinality;
mod counters;
mod document;
mod gauges;
mod health;
mod histograms;
mod hosts;
mod limits;
mod listener;
mod openapi;
mod page;
mod page_limits;
mod page_numbers;
mod readme;
mod schema;
mod v1_access;
mod v1_operators;
mod v1_refused;
mod v1_tasks;
