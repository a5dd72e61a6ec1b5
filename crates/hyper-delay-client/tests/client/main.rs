//! The client against a server that does as it is told, spoken to in raw bytes.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod closing;
mod connections;
mod consumers;
mod fake;
mod garbage;
mod operators;
mod schedules;
mod streams;
