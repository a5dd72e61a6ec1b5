use std::{
    collections::HashMap,
    hash::{BuildHasher, Hasher},
};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{Bytes, Space};

/// Puts and removals that take effect together. The last one of a key counts.
#[derive(Debug, Default)]
pub struct Batch {
    writes: [HashMap<Bytes, Option<Bytes>, KeyHash>; Space::ALL.len()],
    schedules: u64,
    removals: u64,
}

impl Batch {
    /// Creates an empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a key.
    pub fn put(&mut self, space: Space, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.writes[space as usize].insert(key.into(), Some(value.into()));
    }

    /// Removes a key if it is there.
    pub fn remove(&mut self, space: Space, key: impl Into<Bytes>) {
        self.writes[space as usize].insert(key.into(), None);
    }

    /// Counts a task, or a revision of one, that the batch schedules.
    pub fn count_schedule(&mut self) {
        self.schedules += 1;
    }

    /// Counts a task, or a revision of one, that the batch removes.
    pub fn count_removal(&mut self) {
        self.removals += 1;
    }

    /// Returns how many schedules and removals were counted.
    #[must_use]
    pub const fn counted(&self) -> (u64, u64) {
        (self.schedules, self.removals)
    }

    /// Returns what the batch does to a key: puts a value, removes it, or nothing.
    #[must_use]
    pub fn get(&self, space: Space, key: &[u8]) -> Option<Option<&Bytes>> {
        self.writes[space as usize].get(key).map(Option::as_ref)
    }

    /// Returns whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.writes.iter().all(HashMap::is_empty)
    }

    /// Returns whether the batch changes a space.
    #[must_use]
    pub fn touches(&self, space: Space) -> bool {
        !self.writes[space as usize].is_empty()
    }

    /// Yields everything, space by space. The batch keeps its memory.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (Space, Bytes, Option<Bytes>)> {
        Space::ALL
            .into_iter()
            .zip(&mut self.writes)
            .flat_map(|(space, writes)| writes.drain().map(move |(key, value)| (space, key, value)))
    }
}

/// Hashes keys with XXH3 and a random seed. It takes a quarter of the time of the standard
/// library's hash, and clients that choose ids cannot tell which of them collide.
#[derive(Debug, Clone, Copy)]
pub struct KeyHash {
    seed: u64,
}

impl Default for KeyHash {
    fn default() -> Self {
        Self {
            seed: fastrand::u64(..),
        }
    }
}

impl BuildHasher for KeyHash {
    type Hasher = KeyHasher;

    fn build_hasher(&self) -> KeyHasher {
        KeyHasher(self.seed)
    }
}

/// The hash of the bytes so far.
#[derive(Debug)]
pub struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    fn write_usize(&mut self, length: usize) {
        self.0 = self.0.wrapping_add(length as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
