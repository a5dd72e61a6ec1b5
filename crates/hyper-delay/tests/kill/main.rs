//! The real server, killed for real.

mod book;
mod consumer;
mod harness;
mod producer;
mod server;
mod signals;
mod wire;
mod world;
