//! A server in this process, and peers that speak to it in raw bytes.

#![allow(dead_code, reason = "each test binary uses a part of it")]

mod peer;
mod server;
mod words;

pub(crate) use peer::Peer;
pub(crate) use server::Server;
pub(crate) use words::*;
