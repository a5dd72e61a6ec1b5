use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use super::recovered_task::RecoveredTask;
use hyper_delay_engine::ledger::entry_key;
use hyper_delay_fjall::{Embedded, OpenOptions};
use hyper_delay_store::{
    Batch, Bytes, Durability, ReadStore as _, Space, Store as _, StoreError,
    record::{
        self, ExpiryEntry, Name, RetryingCounts, RetryingEntry, StoredCounts, TaskEntry, key,
    },
};

/// Writes tasks into a new store.
#[derive(Debug)]
pub(super) struct RepairWriter {
    store: Embedded,
    batch: Batch,
    /// The names in the batch, once there can be another revision of one.
    names: HashMap<Bytes, Bytes>,
    /// Number of bytes in the batch.
    bytes: usize,
    /// The counts by key of the route. The empty route has the sums.
    counts: BTreeMap<Bytes, StoredCounts>,
    /// The retrying tasks.
    retrying: RetryingCounts,
    /// The sequence number after the highest one that was written.
    next: u64,
    /// Whether a task without a row in `names` was written. Another revision of it can follow.
    has_nameless: bool,
}

impl RepairWriter {
    /// Target size of a batch in bytes.
    const BATCH: usize = 1 << 20;

    pub(super) fn new(directory: &Path) -> Result<Self, StoreError> {
        Ok(Self {
            store: Embedded::open_with(directory, OpenOptions::default())?,
            batch: Batch::new(),
            names: HashMap::new(),
            bytes: 0,
            counts: BTreeMap::new(),
            retrying: RetryingCounts::default(),
            next: 1,
            has_nameless: false,
        })
    }

    /// Writes a task. Tasks must be written in the order of their sequence numbers, so that the
    /// latest revision of a name remains. Returns whether it replaced another revision.
    pub(super) fn write_task(&mut self, task: &RecoveredTask) -> Result<bool, StoreError> {
        let RecoveredTask {
            route, id, name, ..
        } = task;
        let key = key::name(route, id);
        if !task.is_named && !self.has_nameless {
            // The earlier names must be in the store: the batch does not keep them.
            self.commit()?;
            self.has_nameless = true;
        }
        let replaced = if self.has_nameless {
            self.remove_revision(route, &key)?
        } else {
            false
        };
        let entry = TaskEntry::of(route, id, name);
        let entry = match &task.reason {
            Some(reason) => record::encode_dead(&entry, reason),
            None => record::encode(&entry),
        };
        let (space, place) = entry_key(route, name);
        self.put(space, &place, &entry)?;
        if let Some(key) = name.expiry_key() {
            let value = record::encode(&ExpiryEntry { route, id });
            self.put(Space::Meta, &key, &value)?;
        }
        if let Some(key) = name.retrying_key(route) {
            let value = record::encode(&RetryingEntry { id });
            self.put(Space::Meta, &key, &value)?;
        }
        let state = record::encode(name);
        self.put(Space::Names, &key, &state)?;
        if self.has_nameless {
            self.names.insert(key, state);
        }
        self.put(Space::Tasks, &key::task(name.seq), &task.content)?;
        self.batch.count_schedule();
        self.next = self.next.max(name.seq.saturating_add(1));
        self.count(route, |counts| counts.add(name));
        self.retrying.add(route, name);
        Ok(replaced)
    }

    /// Removes the revision of this name that was written before.
    fn remove_revision(&mut self, route: &str, key: &[u8]) -> Result<bool, StoreError> {
        let before = match self.names.get(key) {
            Some(value) => Some(value.clone()),
            None => self.store.get(Space::Names, key)?,
        };
        let Some(before) = before else {
            return Ok(false);
        };
        let name: Name = record::decode(&before)?;
        let (space, place) = entry_key(route, &name);
        self.batch.remove(space, place);
        if let Some(key) = name.expiry_key() {
            self.batch.remove(Space::Meta, key);
        }
        if let Some(key) = name.retrying_key(route) {
            self.batch.remove(Space::Meta, key);
            self.retrying.remove(route, &name);
        }
        self.batch.remove(Space::Tasks, key::task(name.seq));
        self.batch.count_removal();
        let mut one = StoredCounts::default();
        one.add(&name);
        self.count(route, |counts| counts.subtract(&one));
        Ok(true)
    }

    /// Writes a value as it is.
    pub(super) fn put(&mut self, space: Space, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        // A task may span two batches. The store is read only after the task is complete.
        if self.bytes >= Self::BATCH {
            self.commit()?;
        }
        self.bytes += key.len() + value.len();
        self.batch.put(space, key, value);
        Ok(())
    }

    /// Writes the counts and the next sequence number, at least `numbers`, and closes the store.
    pub(super) fn finish(mut self, numbers: u64) -> Result<(), StoreError> {
        for (route, counts) in std::mem::take(&mut self.counts) {
            if !counts.is_empty() {
                self.put(Space::Counts, &route, &record::encode(&counts))?;
            }
        }
        for (key, value) in std::mem::take(&mut self.retrying).into_rows() {
            self.put(Space::Meta, &key, &value)?;
        }
        let numbers = record::encode(&numbers.max(self.next));
        self.put(Space::Meta, key::NUMBERS, &numbers)?;
        self.commit()?;
        self.store.sync()
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.bytes = 0;
        self.names.clear();
        let batch = std::mem::take(&mut self.batch);
        self.store.commit(batch, Durability::Written)
    }

    fn count(&mut self, route: &str, change: impl Fn(&mut StoredCounts)) {
        for route in [route, ""] {
            change(self.counts.entry(key::route(route)).or_default());
        }
    }
}
