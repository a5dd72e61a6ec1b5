use std::collections::HashMap;

use super::{Bytes, Space};

/// Puts and removals that take effect together. The last one of a key counts.
#[derive(Debug, Default)]
pub struct Batch {
    writes: [HashMap<Bytes, Option<Bytes>>; Space::ALL.len()],
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
