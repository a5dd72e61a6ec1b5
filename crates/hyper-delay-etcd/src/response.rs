//! What several responses have.

use bytes::Bytes;

/// A key with its value.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct KeyValue {
    #[prost(bytes = "bytes", tag = "1")]
    key: Bytes,
    #[prost(uint64, tag = "3")]
    mod_revision: u64,
    #[prost(bytes = "bytes", tag = "5")]
    value: Bytes,
}

impl KeyValue {
    /// The key.
    #[must_use]
    pub const fn key(&self) -> &Bytes {
        &self.key
    }

    /// The value. Empty if only keys were asked for, and for a deleted key.
    #[must_use]
    pub const fn value(&self) -> &Bytes {
        &self.value
    }

    /// The revision that wrote the key last, or that deleted it, in an [`Event`](crate::Event) that
    /// says so.
    #[must_use]
    pub const fn mod_revision(&self) -> u64 {
        self.mod_revision
    }
}

/// The head of every response.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct Header {
    #[prost(uint64, tag = "2")]
    pub(crate) member_id: u64,
    #[prost(uint64, tag = "3")]
    pub(crate) revision: u64,
}
