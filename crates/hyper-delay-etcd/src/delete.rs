use bytes::Bytes;

use crate::Keys;

/// Deletes keys.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Delete {
    #[prost(bytes = "bytes", tag = "1")]
    key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    range_end: Bytes,
}

impl Delete {
    /// Deletes these keys. Keys that are absent are no error.
    #[must_use]
    pub fn new(keys: impl Into<Keys>) -> Self {
        let Keys { start, end } = keys.into();
        Self {
            key: start,
            range_end: end,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct DeleteResponse {
    #[prost(uint64, tag = "2")]
    pub(crate) deleted: u64,
}
