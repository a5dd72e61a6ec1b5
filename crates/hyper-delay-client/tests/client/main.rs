//! The client against a server that does as it is told, spoken to in raw bytes.

mod closing;
mod connections;
mod consumers;
mod fake;
mod garbage;
mod operators;
mod schedules;
mod streams;
