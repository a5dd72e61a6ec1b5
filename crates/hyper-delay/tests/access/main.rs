//! Tokens and rights: who may do what.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod server;

mod authentication;
mod command;
mod exposure;
mod limits;
mod operators;
mod quotas;
mod revocation;
mod rights;
