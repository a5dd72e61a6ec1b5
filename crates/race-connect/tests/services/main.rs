//! Races to the endpoints that HTTPS records name, in virtual time.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod errors;
mod handshake;
mod history;
mod host;
mod memory;
mod order;
mod origins;
mod queries;
mod random;
mod send;
mod settings;
