//! Why etcd has not answered a request.

use hyper_delay_etcd::{Error, KeyValue};

use super::endpoint::EtcdConnectError;
use crate::BadShards;

/// Why a request to one member of etcd has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum EtcdError {
    /// etcd refused the request, or could not be reached.
    #[error(transparent)]
    Client(#[from] Error),
    /// There is no connection.
    #[error(transparent)]
    NotConnected(#[from] EtcdConnectError),
    /// The answer to a transaction has too few results.
    #[error("the answer lacks the result of a read: is this etcd 3.4 or later?")]
    NoRead,
    /// A value that no node writes.
    #[error("etcd's key {key} has the value {value:?}, which no node writes: {cure}")]
    Value {
        /// The key.
        key: String,
        /// The value, or its beginning.
        value: String,
        /// The cure.
        cure: String,
    },
    /// A key is missing that must be there.
    #[error(
        "etcd lacks {0}, and has other keys of the cluster, so it has lost some: restore etcd from a \
         backup, or keep every data_dir, and read \"etcd is lost\" in docs/cluster.md first"
    )]
    Missing(String),
    /// The number of shards is out of range.
    #[error(transparent)]
    Shards(#[from] BadShards),
}

impl EtcdError {
    /// The most characters of a value in a message.
    const SHOWN: usize = 60;

    /// A value is none that a node writes.
    pub(super) fn value(kv: &KeyValue, cure: &str) -> Self {
        let value = String::from_utf8_lossy(kv.value());
        Self::Value {
            key: String::from_utf8_lossy(kv.key()).into_owned(),
            value: value.chars().take(Self::SHOWN).collect(),
            cure: cure.to_owned(),
        }
    }

    /// Returns whether every member of etcd would answer the same.
    pub(super) const fn is_final(&self) -> bool {
        match self {
            Self::Client(error) => matches!(error, Error::Incomplete(_)),
            Self::NotConnected(_) => false,
            Self::NoRead | Self::Value { .. } | Self::Missing(_) | Self::Shards(_) => true,
        }
    }

    /// Returns whether the answer has more bytes than the client takes.
    pub(super) fn is_too_large(&self) -> bool {
        matches!(self, Self::Client(error) if error.is_too_large())
    }

    /// Returns whether the revision that the request reads is not kept any more.
    pub(super) fn is_compacted(&self) -> bool {
        matches!(self, Self::Client(error) if error.is_compacted())
    }
}
