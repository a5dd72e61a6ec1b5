use std::sync::Arc;

use super::{
    ScheduleOrder, TaskRevision,
    low_water::LowWaterMark,
    route_counts::{QuotaUsage, RouteCounts},
    token_pending::TokenPending,
    write_buffer::WriteBuffer,
};
use crate::{release::Release, sizes::Sizes};
use hyper_delay_protocol::access::Grant;
use hyper_delay_store::{
    Bytes, Space, Store, StoreError,
    record::{self, ExpiryEntry, Name, Place, RetryingEntry, Task, TaskEntry, key},
};

/// The rows of the tasks: the name, the entry, the content, the expiry and, if it is retrying, the
/// row in the index of retrying tasks of each. The low-water
/// mark and the counts follow every change.
#[derive(Debug)]
pub(super) struct TaskRows<S> {
    pub(super) writes: WriteBuffer<S>,
    low_water: LowWaterMark,
    pub(super) counts: RouteCounts,
    token_pending: TokenPending,
    release: Release,
}

impl<S: Store> TaskRows<S> {
    pub(super) fn open(store: Arc<S>, sizes: Sizes) -> Result<Self, StoreError> {
        Ok(Self {
            low_water: LowWaterMark::open(&*store)?,
            counts: RouteCounts::default(),
            token_pending: TokenPending::new(sizes),
            release: Release::default(),
            writes: WriteBuffer::new(store, sizes),
        })
    }

    pub(super) const fn behave_like(&mut self, release: Release) {
        self.release = release;
    }

    pub(super) const fn sizes(&self) -> Sizes {
        self.token_pending.sizes()
    }

    /// Returns the low-water mark in Unix milliseconds: no task waits for an earlier time.
    pub(super) const fn low_water(&self) -> u64 {
        self.low_water.at()
    }

    /// Raises the low-water mark. No task may be waiting for a time before `at`.
    pub(super) fn raise_low_water(&mut self, at: u64) {
        self.low_water.raise(at, &mut self.writes);
    }

    /// Returns the number of tasks in the store, without the changes of the batch in hand.
    pub(super) fn total(&self) -> Result<u64, StoreError> {
        Ok(RouteCounts::total(&self.writes)?.total())
    }

    /// Returns the pending tasks of a route.
    pub(super) fn pending(&self, route: &str) -> Result<QuotaUsage, StoreError> {
        self.counts.pending(&self.writes, route)
    }

    /// Returns the pending tasks on the routes of a token.
    pub(super) fn pending_of(&mut self, grant: &Grant) -> Result<QuotaUsage, StoreError> {
        let (counts, writes) = (&self.counts, &self.writes);
        let count = || counts.pending_of(writes, &grant.routes);
        self.token_pending.sum_of(grant, count)
    }

    /// Adds the changed counts to the batch.
    pub(super) fn write_counts(&mut self) -> Result<(), StoreError> {
        self.counts.write(&mut self.writes)
    }

    /// Returns the state of a task.
    pub(super) fn name(&self, key: &[u8]) -> Result<Option<Name>, StoreError> {
        let Some(value) = self.writes.get(Space::Names, key)? else {
            return Ok(None);
        };
        Ok(Some(self.release.decoded(record::decode(&value)?)))
    }

    /// Returns the key and the state of a task, if `revision` is the current one.
    pub(super) fn current(
        &self,
        revision: &TaskRevision,
    ) -> Result<Option<(Bytes, Name)>, StoreError> {
        let key = key::name(&revision.route, &revision.id);
        let name = self.name(&key)?;
        Ok(name
            .filter(|name| name.seq == revision.seq)
            .map(|name| (key, name)))
    }

    /// Writes all rows of a new revision. The rows of the one before must be removed.
    pub(super) fn create(
        &mut self,
        order: &ScheduleOrder,
        content: &Task<'_>,
        key: Bytes,
        name: &Name,
    ) {
        if let Some(key) = name.expiry_key() {
            let expiring = ExpiryEntry {
                route: &order.route,
                id: &order.id,
            };
            let value = record::encode(&expiring);
            self.writes.put(Space::Meta, key, value);
        }
        self.writes.count_schedule();
        let hint = order.payload.len() + order.headers.text().len();
        let content = record::encode_with_hint(content, hint);
        self.writes.put(Space::Tasks, key::task(name.seq), content);
        self.put(&order.route, &order.id, key, name);
    }

    /// Rewrites the entry of a dead letter with the reason for its death.
    pub(super) fn set_reason(
        &mut self,
        revision: &TaskRevision,
        at: u64,
        reason: &str,
    ) -> Result<(), StoreError> {
        let Some((_, name)) = self.current(revision)? else {
            return Ok(());
        };
        let entry = TaskEntry::of(&revision.route, &revision.id, &name);
        let key = key::route_time(&revision.route, at, revision.seq);
        let value = record::encode_dead(&entry, reason);
        self.writes.put(Space::Dead, key, value);
        Ok(())
    }

    /// Removes all rows of a task.
    pub(super) fn remove(&mut self, route: &str, key: Bytes, name: &Name) {
        self.remove_revision(route, name);
        self.writes.remove(Space::Names, key);
    }

    /// Removes the rows of a revision; that of the name remains for the next one.
    pub(super) fn remove_revision(&mut self, route: &str, name: &Name) {
        self.remove_entry(route, name);
        if let Some(key) = name.expiry_key() {
            self.writes.remove(Space::Meta, key);
        }
        self.writes.count_removal();
        self.writes.remove(Space::Tasks, key::task(name.seq));
    }

    /// Removes a row of the index of expiry.
    pub(super) fn remove_expiry(&mut self, at: u64, seq: u64) {
        self.writes.remove(Space::Meta, key::expiry(at, seq));
    }

    /// Writes the state of a task and its entry.
    pub(super) fn put(&mut self, route: &str, id: &str, key: Bytes, name: &Name) {
        let name = &*self.release.to_store(name);
        let (space, place) = entry_key(route, name);
        if let Place::Waiting(at) = name.place {
            self.low_water.lower(at, &mut self.writes);
            self.writes.note_due(at, name.seq, true);
        }
        let entry = TaskEntry::of(route, id, name);
        self.writes.put(space, place, record::encode(&entry));
        self.writes.put(Space::Names, key, record::encode(name));
        if let Some(key) = name.retrying_key(route) {
            let value = record::encode(&RetryingEntry { id });
            self.writes.put(Space::Meta, key, value);
        }
        self.counts.add(route, name);
        self.token_pending.add(route, name);
    }

    /// Removes the entry of a task.
    pub(super) fn remove_entry(&mut self, route: &str, name: &Name) {
        let (space, place) = entry_key(route, name);
        self.writes.remove(space, place);
        if let Place::Waiting(at) = name.place {
            self.writes.note_due(at, name.seq, false);
        }
        if let Some(key) = name.retrying_key(route) {
            self.writes.remove(Space::Meta, key);
        }
        self.counts.remove(route, name);
        self.token_pending.remove(route, name);
    }
}

/// Returns the space and the key of a task's entry.
#[must_use]
pub fn entry_key(route: &str, name: &Name) -> (Space, Bytes) {
    match name.place {
        Place::Waiting(at) => (Space::Waiting, key::time(at, name.seq).into()),
        Place::Parked(at) => (Space::Parked, key::route_time(route, at, name.seq)),
        Place::Dead(at) => (Space::Dead, key::route_time(route, at, name.seq)),
    }
}
