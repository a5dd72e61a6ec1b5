//! The shards of a cluster: their number, and which one a route belongs to.

use serde::{Deserialize, Serialize};

pub use hyper_delay_engine::shard::ShardId;
pub(crate) use hyper_delay_engine::shard::shard_of;
use hyper_delay_store::record::sharded_number::{self, MAX_SHARDS};

/// Returns the shard of a task, bulk operation or line of the audit by its number.
#[must_use]
pub(crate) const fn shard_of_seq(seq: u64) -> ShardId {
    ShardId(sharded_number::shard_of(seq))
}

/// Returns the first number of a shard.
#[must_use]
pub(crate) const fn first_seq(shard: ShardId) -> u64 {
    sharded_number::first_of(shard.0)
}

/// The identity of a cluster, and its number of shards. Both are fixed when it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charter {
    /// A random number that no other cluster has.
    pub cluster: u128,
    /// The number of shards, from 1 to 32.
    pub shards: u16,
}

/// A cluster cannot have this many shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a cluster cannot have {0} shards: give 1 to {MAX_SHARDS}")]
pub struct BadShards(pub(crate) u16);

impl Charter {
    /// Creates the charter of a new cluster.
    ///
    /// # Errors
    ///
    /// If it is to have no shard, or more than can be numbered.
    pub(crate) const fn new(cluster: u128, shards: u16) -> Result<Self, BadShards> {
        match shards {
            1..=MAX_SHARDS => Ok(Self { cluster, shards }),
            _ => Err(BadShards(shards)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charter_has_1_to_32_shards() {
        for shards in [1, 8, 32] {
            assert_eq!(Charter::new(7, shards).unwrap().shards, shards);
        }
        for shards in [0, 33, u16::MAX] {
            let error = Charter::new(7, shards).unwrap_err();
            assert!(error.to_string().contains(&shards.to_string()), "{error}");
        }
    }
}
