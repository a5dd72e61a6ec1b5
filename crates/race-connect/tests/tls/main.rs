//! TLS inside the attempts of the tokio connector.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod attempts;
mod hyper;
mod names;
mod server;
