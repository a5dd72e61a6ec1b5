//! The shards of the tasks: which one a route belongs to. A single server has one.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// A shard of the tasks, by its number from 0.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct ShardId(pub u16);

/// Returns the shard of the tasks of a route, among this many.
#[must_use]
pub fn shard_of(route: &str, shards: u16) -> ShardId {
    if shards == 1 {
        return ShardId(0);
    }
    let shard = xxh3_64(route.as_bytes()) % u64::from(shards);
    // It is less than the shards.
    ShardId(shard as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_stays_in_its_shard_in_every_version() {
        let shards = ["", "a", "service-A", "路由"].map(|route| shard_of(route, 8).0);
        assert_eq!(shards, [2, 7, 1, 7]);
    }
}
