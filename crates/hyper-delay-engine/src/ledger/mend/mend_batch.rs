use std::{collections::HashMap, ops::ControlFlow};

use crate::sizes::{Size, Sizes};
use hyper_delay_store::{Batch, Bytes, Durability, Space, Store, StoreError};

/// A batch, and reads that see its writes.
#[derive(Debug)]
pub(super) struct MendBatch<'a, S> {
    store: &'a S,
    sizes: Sizes,
    batch: Batch,
    /// The values that the batch changes.
    changes: [HashMap<Bytes, Option<Bytes>>; Space::ALL.len()],
}

impl<'a, S: Store> MendBatch<'a, S> {
    pub(super) fn new(store: &'a S, sizes: Sizes) -> Self {
        Self {
            store,
            sizes,
            batch: Batch::new(),
            changes: Default::default(),
        }
    }

    /// Returns the value of a key.
    pub(super) fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        match self.changes[space as usize].get(key) {
            Some(change) => Ok(change.clone()),
            None => self.store.get(space, key),
        }
    }

    /// Returns the value of a row that was read before the changes.
    pub(super) fn value_after_changes(
        &self,
        space: Space,
        (key, value): &(Bytes, Bytes),
    ) -> Option<Bytes> {
        match self.changes[space as usize].get(key) {
            Some(change) => change.clone(),
            None => Some(value.clone()),
        }
    }

    pub(super) fn put(&mut self, space: Space, key: impl Into<Bytes>, value: Bytes) {
        let key = key.into();
        self.changes[space as usize].insert(key.clone(), Some(value.clone()));
        self.batch.put(space, key, value);
    }

    pub(super) fn remove(&mut self, space: Space, key: impl Into<Bytes>) {
        let key = key.into();
        self.changes[space as usize].insert(key.clone(), None);
        self.batch.remove(space, key);
    }

    /// Returns the next rows of a space from a key on, without the changes.
    pub(super) fn page(
        &self,
        space: Space,
        from: &[u8],
    ) -> Result<Vec<(Bytes, Bytes)>, StoreError> {
        let mut page = Vec::new();
        self.store.scan(space, from, &mut |key, value| {
            page.push((key.into(), value.into()));
            self.continue_below_limit(page.len())
        })?;
        Ok(page)
    }

    /// Adds the next keys of a space from a key on that `is_wanted` selects, without the changes,
    /// until it breaks. After an error, `keys` has those before it.
    pub(super) fn keys(
        &self,
        space: Space,
        from: &[u8],
        keys: &mut Vec<Bytes>,
        mut is_wanted: impl FnMut(&[u8]) -> ControlFlow<(), bool>,
    ) -> Result<(), StoreError> {
        self.store.scan(space, from, &mut |key, _| {
            if is_wanted(key)? {
                keys.push(key.into());
            }
            self.continue_below_limit(keys.len())
        })
    }

    /// Whether more rows are read after so many.
    fn continue_below_limit(&self, rows: usize) -> ControlFlow<()> {
        if rows < self.sizes.mend_rows {
            return ControlFlow::Continue(());
        }
        (self.sizes.reached)(Size::MendRows);
        ControlFlow::Break(())
    }

    /// Commits the changes. A synced commit also syncs all before it.
    pub(super) fn commit(&mut self, durability: Durability) -> Result<(), StoreError> {
        for changes in &mut self.changes {
            changes.clear();
        }
        let batch = std::mem::take(&mut self.batch);
        if batch.is_empty() {
            return Ok(());
        }
        self.store.commit(batch, durability)
    }
}

/// Returns the first key after this one.
pub(super) fn after(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}
