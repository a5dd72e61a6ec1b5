use bytes::Bytes;

use crate::Key;

/// Writes one key.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Put {
    #[prost(bytes = "bytes", tag = "1")]
    key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    value: Bytes,
    #[prost(bool, tag = "5")]
    ignore_value: bool,
}

impl Put {
    /// Gives a key this value.
    #[must_use]
    pub fn new(key: impl Into<Key>, value: impl Into<Bytes>) -> Self {
        Self {
            key: key.into().0,
            value: value.into(),
            ignore_value: false,
        }
    }

    /// Gives a key a new revision, and leaves its value. etcd refuses it if the key is absent.
    #[must_use]
    pub fn touch(key: impl Into<Key>) -> Self {
        Self {
            key: key.into().0,
            value: Bytes::new(),
            ignore_value: true,
        }
    }
}

/// Nothing of it is used.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct PutResponse {}
