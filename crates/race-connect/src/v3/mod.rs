//! Happy Eyeballs v3: HTTPS records, QUIC beside TCP, NAT64 and ECH.
//!
//! The draft is
//! [draft-ietf-happy-happyeyeballs-v3](https://datatracker.ietf.org/doc/draft-ietf-happy-happyeyeballs-v3/),
//! in the working group's text of 2026-07-30; HTTPS records are those of
//! [RFC 9460](https://www.rfc-editor.org/rfc/rfc9460).
//!
//! - [`Endpoints`] is the pure part: it says which queries to send, and which endpoint to try next.
//! - [`Discovery`] asks a [`Lookup`], such as a `hickory_resolver::Resolver`, and takes the place
//!   of a [`Resolve`](crate::Resolve) in a connector.
//! - [`HappyEyeballs::race_endpoints`](crate::HappyEyeballs::race_endpoints) takes any timer and
//!   any kind of connection.
//! - [`QuicMemory`] and [`AddressHistory`] remember what connections taught.

mod answers;
mod discovery;
mod endpoint;
mod endpoints;
mod history;
mod lookup;
mod name;
mod nat64;
mod network;
mod order;
mod origin;
mod preferences;
mod query;
mod quic_memory;
mod record;
mod search;
mod services;

pub use discovery::Discovery;
pub use endpoint::{Endpoint, Peer, Transport};
pub use endpoints::{Endpoints, Handshake, QueryFailed, Refused};
pub use history::AddressHistory;
pub use lookup::Lookup;
pub use name::Name;
pub use nat64::Nat64Prefix;
pub use network::Network;
pub use origin::Origin;
pub use preferences::{Order, Preferences, Protocols};
pub use query::{Query, RecordType, Records};
pub use quic_memory::QuicMemory;
pub use record::ServiceRecord;

#[cfg(test)]
mod tests;
