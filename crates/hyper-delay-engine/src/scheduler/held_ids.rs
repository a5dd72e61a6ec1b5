use std::hash::BuildHasher as _;

use rustc_hash::FxHashMap;

use super::ConsumerId;
use crate::key_hash::KeyHash;

/// Which connections have copies of an id, on any route: each has one at a time, so that an answer
/// that names only the id is exact.
///
/// Ids are kept as hashes. A connection that has a copy of another id with the same hash gets the task
/// later, or another connection gets it.
#[derive(Debug, Default)]
pub(super) struct HeldIds {
    hash: KeyHash,
    by_hash: FxHashMap<u64, Holders>,
}

/// The connections, with the revision that each has.
#[derive(Debug)]
enum Holders {
    One(Holder),
    Several(Vec<Holder>),
}

type Holder = (ConsumerId, u64);

impl Holders {
    fn as_slice(&self) -> &[Holder] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        }
    }
}

impl HeldIds {
    /// Returns the connections that have copies of an id, with their revisions.
    pub(super) fn of(&self, id: &str) -> &[Holder] {
        let holders = self.by_hash.get(&self.hash.hash_one(id));
        holders.map_or(&[], Holders::as_slice)
    }

    /// A connection has a copy.
    pub(super) fn add(&mut self, id: &str, consumer: ConsumerId, seq: u64) {
        let holder = (consumer, seq);
        self.by_hash
            .entry(self.hash.hash_one(id))
            .and_modify(|holders| match holders {
                Holders::One(one) => *holders = Holders::Several(vec![*one, holder]),
                Holders::Several(several) => several.push(holder),
            })
            .or_insert(Holders::One(holder));
    }

    /// A connection has a copy no longer.
    pub(super) fn remove(&mut self, id: &str, consumer: ConsumerId, seq: u64) {
        let hash = self.hash.hash_one(id);
        let is_empty = match self.by_hash.get_mut(&hash) {
            Some(Holders::One(one)) => *one == (consumer, seq),
            Some(Holders::Several(several)) => {
                if let Some(place) = several.iter().position(|it| *it == (consumer, seq)) {
                    several.swap_remove(place);
                }
                several.is_empty()
            }
            None => false,
        };
        if is_empty {
            self.by_hash.remove(&hash);
        }
    }

    /// The number of ids that connections have.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.by_hash.len()
    }
}
