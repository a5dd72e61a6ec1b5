use std::collections::{HashMap, HashSet};

use super::write_buffer::WriteBuffer;
use crate::key_hash::KeyHash;
use hyper_delay_protocol::access::Routes;
use hyper_delay_store::{
    Bytes, Space, Store, StoreError,
    record::{self, Name, Place, StoredCounts, key},
};

/// The changes that a batch makes to the counts of routes. Each route is written once in a batch.
#[derive(Debug, Default)]
pub(super) struct RouteCounts {
    changes: HashMap<Box<str>, CountDelta, KeyHash>,
}

/// Changes of the counts of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct CountDelta {
    waiting: i64,
    parked: i64,
    dead: i64,
    bytes: i64,
    retrying: i64,
}

/// The pending tasks of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QuotaUsage {
    pub(super) tasks: u64,
    /// Bytes of their payloads.
    pub(super) bytes: u64,
}

impl RouteCounts {
    /// Adds a task to the counts.
    pub(super) fn add(&mut self, route: &str, name: &Name) {
        self.count(route, name, 1);
    }

    /// Removes a task from the counts.
    pub(super) fn remove(&mut self, route: &str, name: &Name) {
        self.count(route, name, -1);
    }

    /// A row of the index of retrying tasks is removed that no task has.
    pub(super) fn remove_stale_retrying(&mut self, route: &str) {
        self.changes.entry(route.into()).or_default().retrying -= 1;
    }

    fn count(&mut self, route: &str, name: &Name, by: i64) {
        // Most routes are there: their names are not copied.
        if let Some(changes) = self.changes.get_mut(route) {
            return changes.count(name, by);
        }
        let mut changes = CountDelta::default();
        changes.count(name, by);
        self.changes.insert(route.into(), changes);
    }

    /// Returns the pending tasks of a route, with the changes of the batch in hand.
    pub(super) fn pending(
        &self,
        writes: &WriteBuffer<impl Store>,
        route: &str,
    ) -> Result<QuotaUsage, StoreError> {
        let changes = self.changes.get(route).copied().unwrap_or_default();
        let counts = read(writes, &key::route(route))?;
        let tasks = counts.waiting + counts.parked;
        Ok(QuotaUsage {
            tasks: tasks.saturating_add_signed(changes.waiting + changes.parked),
            bytes: counts.bytes.saturating_add_signed(changes.bytes),
        })
    }

    /// Returns the sum of the pending tasks of routes, with the changes of the batch in hand. Reads
    /// the counts of every route.
    pub(super) fn pending_of(
        &self,
        writes: &WriteBuffer<impl Store>,
        routes: &Routes,
    ) -> Result<QuotaUsage, StoreError> {
        let mut names: HashSet<Box<str>> = HashSet::new();
        writes.keys(Space::Counts, |key| {
            let name = key.get(1..).and_then(|name| std::str::from_utf8(name).ok());
            if let Some(name) = name.filter(|name| routes.contain(name)) {
                names.insert(name.into());
            }
        })?;
        let changed = self.changes.keys().filter(|name| routes.contain(name));
        names.extend(changed.cloned());
        // The key of the sum over all routes is that of an empty name.
        names.remove("");
        let mut sum = QuotaUsage { tasks: 0, bytes: 0 };
        for name in names {
            let pending = self.pending(writes, &name)?;
            sum.tasks += pending.tasks;
            sum.bytes += pending.bytes;
        }
        Ok(sum)
    }

    /// Returns the committed counts over all routes.
    pub(super) fn total(writes: &WriteBuffer<impl Store>) -> Result<StoredCounts, StoreError> {
        read(writes, &key::route(""))
    }

    /// Adds the changed counts to the writes.
    pub(super) fn write(&mut self, writes: &mut WriteBuffer<impl Store>) -> Result<(), StoreError> {
        let mut sum = CountDelta::default();
        for (route, changes) in self.changes.drain() {
            sum.add(changes);
            apply(writes, &route, changes)?;
        }
        apply(writes, "", sum)
    }
}

impl CountDelta {
    fn count(&mut self, name: &Name, by: i64) {
        let count = match name.place {
            Place::Waiting(_) => &mut self.waiting,
            Place::Parked(_) => &mut self.parked,
            Place::Dead(_) => &mut self.dead,
        };
        *count += by;
        self.bytes += by * name.pending_bytes().cast_signed();
        self.retrying += by * i64::from(name.is_retrying());
    }

    const fn add(&mut self, other: Self) {
        self.waiting += other.waiting;
        self.parked += other.parked;
        self.dead += other.dead;
        self.bytes += other.bytes;
        self.retrying += other.retrying;
    }
}

fn apply(
    writes: &mut WriteBuffer<impl Store>,
    route: &str,
    changes: CountDelta,
) -> Result<(), StoreError> {
    if changes == CountDelta::default() {
        return Ok(());
    }
    if changes.retrying != 0 {
        apply_retrying(writes, key::retrying_count(route), changes.retrying)?;
    }
    let key = key::route(route);
    let before = read(writes, &key)?;
    let after = StoredCounts {
        waiting: before.waiting.saturating_add_signed(changes.waiting),
        parked: before.parked.saturating_add_signed(changes.parked),
        dead: before.dead.saturating_add_signed(changes.dead),
        bytes: before.bytes.saturating_add_signed(changes.bytes),
    };
    if after == before {
        return Ok(());
    }
    if after.is_empty() {
        writes.remove(Space::Counts, key);
    } else {
        writes.put(Space::Counts, key, record::encode(&after));
    }
    Ok(())
}

fn apply_retrying(
    writes: &mut WriteBuffer<impl Store>,
    key: Bytes,
    change: i64,
) -> Result<(), StoreError> {
    let before: u64 = match writes.get(Space::Meta, &key)? {
        Some(value) => record::decode(&value)?,
        None => 0,
    };
    match before.saturating_add_signed(change) {
        0 => writes.remove(Space::Meta, key),
        after => writes.put(Space::Meta, key, record::encode(&after)),
    }
    Ok(())
}

fn read(writes: &WriteBuffer<impl Store>, key: &[u8]) -> Result<StoredCounts, StoreError> {
    match writes.get(Space::Counts, key)? {
        Some(value) => record::decode(&value),
        None => Ok(StoredCounts::default()),
    }
}
