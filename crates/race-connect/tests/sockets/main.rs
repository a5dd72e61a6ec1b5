//! Sockets of the connectors on loopback: their hooks, and connections to themselves.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod dial;
mod endpoints;
mod hook;
mod host;
mod hyper;
mod self_connection;
