//! The rows of a snapshot on their way to a store.

use super::FillError;
use hyper_delay_store::{Batch, Bytes, Durability, Space, Store};

/// Bytes of a batch.
const BATCH: usize = 1 << 20;

/// Writes rows to a store in batches, while the disk has space for them.
pub(super) struct SnapshotRowWriter<'a, S> {
    store: &'a S,
    /// The free bytes that are left to the other stores on the disk.
    kept: u64,
    batch: Batch,
    bytes: usize,
    /// Tasks in the batch, and in the store.
    schedules: u64,
    tasks: u64,
}

impl<'a, S: Store> SnapshotRowWriter<'a, S> {
    pub(super) fn new(store: &'a S, kept: u64) -> Self {
        Self {
            store,
            kept,
            batch: Batch::new(),
            bytes: 0,
            schedules: 0,
            tasks: 0,
        }
    }

    /// Adds a row.
    ///
    /// # Errors
    ///
    /// If there is no space for a batch, or the store fails.
    pub(super) fn put(&mut self, space: Space, key: Bytes, value: Bytes) -> Result<(), FillError> {
        self.bytes += key.len() + value.len();
        if space == Space::Tasks {
            self.batch.count_schedule();
            self.schedules += 1;
        }
        self.batch.put(space, key, value);
        match self.bytes >= BATCH {
            true => self.commit(),
            false => Ok(()),
        }
    }

    /// Writes the last batch, and syncs the store.
    ///
    /// # Errors
    ///
    /// If there is no space for it, or the store fails.
    pub(super) fn finish(mut self) -> Result<(), FillError> {
        self.commit()?;
        Ok(self.store.sync()?)
    }

    fn commit(&mut self) -> Result<(), FillError> {
        let disk_space = self.store.disk_space(self.tasks)?.without(self.kept);
        // Nothing of a copy may use the space for changes of stored tasks.
        if !disk_space.admits(self.schedules.max(1), self.bytes) {
            return Err(FillError::NoRoom);
        }
        self.tasks += self.schedules;
        (self.schedules, self.bytes) = (0, 0);
        let batch = std::mem::take(&mut self.batch);
        Ok(self.store.commit(batch, Durability::Written)?)
    }
}
