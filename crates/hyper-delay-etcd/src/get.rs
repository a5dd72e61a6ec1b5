use bytes::Bytes;

use crate::{KeyValue, Keys, number::clamp};

/// A read. It is linearizable: it sees every write that was answered before.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Get {
    #[prost(bytes = "bytes", tag = "1")]
    key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    range_end: Bytes,
    #[prost(uint64, tag = "3")]
    limit: u64,
    #[prost(uint64, tag = "4")]
    revision: u64,
    #[prost(bool, tag = "8")]
    keys_only: bool,
}

impl Get {
    /// Reads these keys, in ascending order.
    #[must_use]
    pub fn new(keys: impl Into<Keys>) -> Self {
        let Keys { start, end } = keys.into();
        Self {
            key: start,
            range_end: end,
            limit: 0,
            revision: 0,
            keys_only: false,
        }
    }

    /// Returns at most this many keys. Default: 0, no limit.
    #[must_use]
    pub const fn limit(mut self, keys: u64) -> Self {
        self.limit = clamp(keys);
        self
    }

    /// Reads what was there at this revision. Default: 0, the present one.
    #[must_use]
    pub const fn revision(mut self, revision: u64) -> Self {
        self.revision = clamp(revision);
        self
    }

    /// Leaves out the values.
    #[must_use]
    pub const fn keys_only(mut self) -> Self {
        self.keys_only = true;
        self
    }
}

/// The keys that a [`Get`] found.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct GetResponse {
    #[prost(message, repeated, tag = "2")]
    kvs: Vec<KeyValue>,
    #[prost(uint64, tag = "4")]
    count: u64,
}

impl GetResponse {
    /// The keys, in ascending order.
    #[must_use]
    pub fn kvs(&self) -> &[KeyValue] {
        &self.kvs
    }

    /// The keys, in ascending order.
    #[must_use]
    pub fn into_kvs(self) -> Vec<KeyValue> {
        self.kvs
    }

    /// How many keys there are without the limit of the read.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }
}
