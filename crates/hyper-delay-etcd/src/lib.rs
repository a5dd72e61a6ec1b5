#![doc = include_str!("../README.md")]
//!
//! # Connections
//!
//! A [`Client`] speaks with one member of etcd. It requires that the member has a leader, so a
//! member that is cut off from the majority refuses requests and ends watches instead of answering
//! with what was true once.
//!
//! # Revisions
//!
//! etcd declares revisions and versions as signed numbers. They are never negative, and a varint
//! that is not negative has the same bytes signed and unsigned, so they are `u64` here. A number
//! above `i64::MAX` in a request is sent as `i64::MAX`, which no revision reaches.

mod auth;
mod client;
mod compare;
mod delete;
mod error;
mod get;
mod key;
mod keys;
mod number;
mod options;
mod put;
mod response;
mod status;
mod tls;
mod transport;
mod txn;
mod url;
mod watch;

pub use client::Client;
pub use compare::{Compare, Relation};
pub use delete::Delete;
pub use error::Error;
pub use get::{Get, GetResponse};
pub use key::Key;
pub use keys::Keys;
pub use options::Options;
pub use put::Put;
pub use response::KeyValue;
pub use status::Status;
pub use tls::Tls;
pub use txn::{Op, Txn, TxnResponse};
pub use watch::{Event, Watch};
