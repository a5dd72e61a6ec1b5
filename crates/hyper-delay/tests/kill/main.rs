//! The real server, killed for real.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod audit;
mod book;
mod consumer;
mod harness;
mod producer;
mod server;
mod signals;
mod wire;
mod world;
