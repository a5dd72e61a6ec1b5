use std::{ops::ControlFlow, sync::Arc};

use xxhash_rust::xxh3::Xxh3;

use super::JournalStart;
use hyper_delay_store::{
    Batch, Bytes, Durability, Space, Store, StoreError,
    record::{
        self,
        key::{self, AUDIT, EXPIRY, JOBS, PAUSED, RETRYING},
    },
};

/// Bytes of a batch.
const BATCH: usize = 1 << 20;

/// Numbers of rows by space. In `counts` none is counted, and in `meta` only those that one shard
/// has.
pub(super) type RowCounts = [u64; Space::ALL.len()];

/// The store of a shard that is being made.
pub(crate) struct NewShardStore<S> {
    store: Arc<S>,
    batch: Batch,
    bytes: usize,
    contents: Box<Xxh3>,
}

impl<S: Store> NewShardStore<S> {
    /// `store` must be empty.
    pub(crate) fn new(store: Arc<S>) -> Self {
        Self {
            store,
            batch: Batch::new(),
            bytes: 0,
            contents: Box::default(),
        }
    }

    /// Writes a row.
    pub(super) fn put(
        &mut self,
        space: Space,
        key: impl Into<Bytes>,
        value: impl Into<Bytes>,
    ) -> Result<(), StoreError> {
        let (key, value) = (key.into(), value.into());
        for part in [&[space as u8][..], &key, &value] {
            self.contents.update(&(part.len() as u64).to_le_bytes());
            self.contents.update(part);
        }
        self.bytes += key.len() + value.len();
        if space == Space::Tasks {
            self.batch.count_schedule();
        }
        self.batch.put(space, key, value);
        match self.bytes >= BATCH {
            true => self.commit(),
            false => Ok(()),
        }
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        self.store.commit(batch, Durability::Written)
    }

    /// Syncs what was written, and then notes that the store contains the beginning of its journal,
    /// which this returns.
    pub(super) fn finish(
        &mut self,
        beginning: impl FnOnce(u64) -> JournalStart,
    ) -> Result<JournalStart, StoreError> {
        self.commit()?;
        self.store.sync()?;
        let beginning = beginning(self.contents.digest());
        let mut note = Batch::new();
        for key in [key::APPLIED, key::SYNCED] {
            note.put(Space::Meta, key, record::encode(&beginning.applied));
        }
        self.store.commit(note, Durability::Synced)?;
        Ok(beginning)
    }

    /// Adds the numbers of its rows.
    pub(super) fn count(&self, rows: &mut RowCounts) -> Result<(), StoreError> {
        for space in Space::ALL {
            let count = &mut rows[space as usize];
            self.store.scan(space, &[], &mut |key, _| {
                *count += u64::from(is_counted(space, key));
                ControlFlow::Continue(())
            })?;
        }
        Ok(())
    }
}

fn is_counted(space: Space, key: &[u8]) -> bool {
    match space {
        Space::Counts => false,
        Space::Meta => [PAUSED, JOBS, AUDIT, EXPIRY, RETRYING]
            .iter()
            .any(|it| key.starts_with(it)),
        _ => true,
    }
}

impl<S> std::fmt::Debug for NewShardStore<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewShardStore").finish_non_exhaustive()
    }
}
