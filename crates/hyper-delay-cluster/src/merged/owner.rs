use crate::{ShardId, shard_of, shard_of_seq};
use hyper_delay_store::{
    Space,
    record::key::{self, AUDIT, EXPIRY, JOBS, PAUSED, RETRYING, RETRYING_COUNTS},
};

/// Which shard has a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyOwner {
    /// This one.
    Shard(ShardId),
    /// Each of them can have it.
    Each,
}

/// Returns which of `shards` has a key.
pub(super) fn owner(space: Space, key: &[u8], shards: u16) -> KeyOwner {
    let shard = match space {
        Space::Tasks | Space::Waiting => shard_of_numbered_key(key),
        Space::Names | Space::Parked | Space::Dead | Space::DoneEven | Space::DoneOdd => {
            key::route_of(key).map(|(route, _)| shard_of(route, shards))
        }
        Space::Counts => match key::route_of(key) {
            // The sums over all routes of a shard.
            Some(("", _)) | None => None,
            Some((route, _)) => Some(shard_of(route, shards)),
        },
        Space::Meta => shard_of_meta_key(key, shards),
    };
    shard.map_or(KeyOwner::Each, KeyOwner::Shard)
}

fn shard_of_meta_key(key: &[u8], shards: u16) -> Option<ShardId> {
    if let Some(route) = key.strip_prefix(PAUSED) {
        return Some(shard_of(key::text_of(route).ok()?, shards));
    }
    if let Some(rest) = key.strip_prefix(RETRYING_COUNTS) {
        // The number of all routes is that of each shard.
        let route = key::text_of(rest).ok().filter(|route| !route.is_empty())?;
        return Some(shard_of(route, shards));
    }
    let is_numbered = [JOBS, AUDIT, EXPIRY, RETRYING]
        .iter()
        .any(|it| key.starts_with(it));
    is_numbered.then(|| shard_of_numbered_key(key))?
}

/// Returns the shard of the number that a key ends with.
fn shard_of_numbered_key(key: &[u8]) -> Option<ShardId> {
    let (_, number) = key.split_last_chunk()?;
    Some(shard_of_seq(u64::from_be_bytes(*number)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::first_seq;

    const SHARDS: u16 = 8;

    #[test]
    fn keys_with_a_number_are_of_its_shard() {
        let seq = first_seq(ShardId(5)) + 7;
        let keys = [
            (Space::Tasks, key::task(seq).to_vec()),
            (Space::Waiting, key::time(9, seq).to_vec()),
            (Space::Meta, key::job(seq)),
            (Space::Meta, key::audit(seq)),
            (Space::Meta, key::expiry(9, seq)),
            (Space::Meta, key::retrying("r", 9, seq).to_vec()),
        ];
        for (space, key) in keys {
            let owner = owner(space, &key, SHARDS);
            assert_eq!(owner, KeyOwner::Shard(ShardId(5)), "{space:?}");
        }
    }

    #[test]
    fn keys_with_a_route_are_of_its_shard() {
        for route in ["a", "b", "service-A"] {
            let shard = KeyOwner::Shard(shard_of(route, SHARDS));
            let name = key::name(route, "id");
            for space in [Space::Names, Space::DoneEven, Space::DoneOdd] {
                assert_eq!(owner(space, &name, SHARDS), shard, "{space:?}");
            }
            let placed = key::route_time(route, 9, 7);
            for space in [Space::Parked, Space::Dead] {
                assert_eq!(owner(space, &placed, SHARDS), shard, "{space:?}");
            }
            assert_eq!(owner(Space::Counts, &key::route(route), SHARDS), shard);
            assert_eq!(owner(Space::Meta, &key::paused(route), SHARDS), shard);
            let count = key::retrying_count(route);
            assert_eq!(owner(Space::Meta, &count, SHARDS), shard);
        }
    }

    #[test]
    fn each_shard_has_the_other_keys() {
        assert_eq!(
            owner(Space::Counts, &key::route(""), SHARDS),
            KeyOwner::Each
        );
        let count = key::retrying_count("");
        for key in [key::NUMBERS, key::LOW_WATER, key::APPLIED, b"job/", &count] {
            assert_eq!(owner(Space::Meta, key, SHARDS), KeyOwner::Each);
        }
    }
}
