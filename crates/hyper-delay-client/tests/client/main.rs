//! The client against a fake server that the test scripts line by line.

#![expect(clippy::unwrap_used, reason = "a panic is a failed test")]

mod closing;
mod connections;
mod consumers;
mod fake;
mod garbage;
mod operators;
mod payloads;
mod protocol;
mod schedules;
mod streams;
mod tokens;
