use std::hash::BuildHasher as _;

use rustc_hash::FxHashMap;

use super::ConsumerId;
use crate::key_hash::KeyHash;

/// The ids of the copies that connections have, on any route: each has one copy of an id at a time, so
/// that an answer that names only the id is exact.
///
/// Ids are kept as hashes. A connection that has a copy of another id with the same hash gets the task
/// later, or another connection gets it.
#[derive(Debug, Default)]
pub(super) struct HeldIds {
    hash: KeyHash,
    /// The revision of the copy that a connection has of an id.
    revisions: FxHashMap<(u64, ConsumerId), u64>,
}

/// The hash of an id.
#[derive(Debug, Clone, Copy)]
pub(super) struct IdHash(u64);

impl HeldIds {
    pub(super) fn hash_of(&self, id: &str) -> IdHash {
        IdHash(self.hash.hash_one(id))
    }

    /// Returns the revision of the copy that a connection has of an id.
    pub(super) fn get(&self, id: IdHash, consumer: ConsumerId) -> Option<u64> {
        self.revisions.get(&(id.0, consumer)).copied()
    }

    /// A connection has a copy.
    pub(super) fn add(&mut self, id: &str, consumer: ConsumerId, seq: u64) {
        let id = self.hash_of(id);
        let before = self.revisions.insert((id.0, consumer), seq);
        debug_assert!(before.is_none(), "one copy of an id at a time");
    }

    /// A connection has a copy no longer.
    pub(super) fn remove(&mut self, id: &str, consumer: ConsumerId) {
        let id = self.hash_of(id);
        self.revisions.remove(&(id.0, consumer));
    }

    /// The number of copies.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.revisions.len()
    }
}
