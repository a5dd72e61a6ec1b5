use std::collections::HashMap;

use super::{Bytes, Space};

/// Puts and removes that take effect together. The last word on a key holds.
#[derive(Debug, Default)]
pub struct Batch {
    writes: [HashMap<Bytes, Option<Bytes>>; Space::ALL.len()],
}

impl Batch {
    /// Nothing to write.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a key.
    pub fn put(&mut self, space: Space, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.writes[space as usize].insert(key.into(), Some(value.into()));
    }

    /// Removes a key, if it is there.
    pub fn remove(&mut self, space: Space, key: impl Into<Bytes>) {
        self.writes[space as usize].insert(key.into(), None);
    }

    /// What the batch says about a key: its value, that it goes, or nothing.
    #[must_use]
    pub fn get(&self, space: Space, key: &[u8]) -> Option<Option<&Bytes>> {
        self.writes[space as usize].get(key).map(Option::as_ref)
    }

    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.writes.iter().all(HashMap::is_empty)
    }

    /// Everything, space by space; the batch is empty then, and keeps its memory.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (Space, Bytes, Option<Bytes>)> {
        Space::ALL
            .into_iter()
            .zip(&mut self.writes)
            .flat_map(|(space, writes)| writes.drain().map(move |(key, value)| (space, key, value)))
    }
}
