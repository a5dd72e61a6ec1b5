//! Happy Eyeballs to embed, version 2 ([RFC 8305](https://www.rfc-editor.org/rfc/rfc8305)) and
//! version 3 ([`v3`]): races connections to a host, and keeps the first.
//!
//! - `tokio::connect(host, port)` and `smol::connect(host, port)` (features `tokio` and `smol`) use
//!   the system's resolver.
//! - `tokio::Connector` and `smol::Connector` have settings and take any [`Resolve`], such as that
//!   of `hickory_resolver` (feature `hickory`); the former is a connector of a hyper client
//!   (feature `hyper`).
//! - Connectors have hooks: `socket` for the socket of an attempt before it connects, `dial` for
//!   the whole attempt, such as through a proxy. `refuse_self_connection` is for dials of your own.
//! - `reqwest::Resolver` gives addresses to a reqwest client (feature `reqwest`).
//! - `tokio::Connector::tls` puts TLS into the attempts (feature `rustls`).
//! - [`HappyEyeballs::race`] takes any resolver, any timer and any kind of connection.
//! - [`sort_destinations`] sorts addresses by RFC 6724, for resolvers that do not.
//! - [`Candidates`] is the pure part, without sockets and clock.
//! - [`v3`] adds HTTPS records, QUIC and NAT64. A [`v3::Discovery`] takes the place of a resolver
//!   in a connector; [`HappyEyeballs::race_endpoints`] takes any timer and any kind of connection.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod family;

mod answer;
mod candidates;
mod destinations;
mod memory;

mod attempts;
mod connected;
mod connector;
mod destination;
mod dial;
mod dials;
mod error;
mod gap;
mod handshakes;
mod happy_eyeballs;
mod lost;
mod plan;
mod resolution;
mod resolve;
#[cfg(any(feature = "smol", feature = "tokio"))]
mod self_connection;
#[cfg(any(feature = "smol", feature = "tokio"))]
mod sockets;

#[cfg(feature = "hickory")]
mod hickory;
#[cfg(feature = "reqwest")]
#[cfg_attr(docsrs, doc(cfg(feature = "reqwest")))]
pub mod reqwest;
#[cfg(feature = "smol")]
#[cfg_attr(docsrs, doc(cfg(feature = "smol")))]
pub mod smol;
#[cfg(feature = "tokio")]
#[cfg_attr(docsrs, doc(cfg(feature = "tokio")))]
pub mod tokio;
pub mod v3;

#[cfg(feature = "hickory")]
#[cfg_attr(docsrs, doc(cfg(feature = "hickory")))]
pub use hickory_resolver;
pub use race_core;
#[cfg(feature = "rustls")]
#[cfg_attr(docsrs, doc(cfg(feature = "rustls")))]
pub use tokio_rustls::rustls;

pub use answer::Answer;
pub use candidates::{Candidates, Next};
pub use connected::Connected;
pub use connector::GenericConnector;
pub use destination::Destination;
pub use destinations::{sort_destinations, source_address};
pub use dial::Dial;
pub use error::{ConnectError, ConnectFailure};
pub use family::Family;
pub use happy_eyeballs::HappyEyeballs;
pub use memory::FamilyMemory;
pub use resolve::Resolve;
#[cfg(any(feature = "smol", feature = "tokio"))]
#[cfg_attr(docsrs, doc(cfg(any(feature = "smol", feature = "tokio"))))]
pub use self_connection::refuse_self_connection;
#[cfg(any(feature = "smol", feature = "tokio"))]
#[cfg_attr(docsrs, doc(cfg(any(feature = "smol", feature = "tokio"))))]
pub use socket2;
#[cfg(any(feature = "smol", feature = "tokio"))]
#[cfg_attr(docsrs, doc(cfg(any(feature = "smol", feature = "tokio"))))]
pub use sockets::Sockets;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
