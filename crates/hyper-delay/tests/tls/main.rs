//! TLS: whom the server serves, what the others get, and how its files are reloaded.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod authority;
mod peer;
mod server;

mod client;
mod command;
mod files;
mod handshake;
mod http;
mod limits;
mod reload;
mod rights;
