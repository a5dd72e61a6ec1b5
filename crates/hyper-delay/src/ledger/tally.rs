use std::collections::HashMap;

use super::{key_hash::KeyHash, writes::Writes};
use crate::{
    record::{self, Counts, Place, key},
    store::{Bytes, Space, Store, StoreError},
};

/// A count of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Column {
    Waiting,
    Parked,
    Dead,
}

impl Column {
    /// Returns the count that includes a task in this place.
    pub(super) const fn of(place: Place) -> Self {
        match place {
            Place::Waiting(_) => Self::Waiting,
            Place::Parked(_) => Self::Parked,
            Place::Dead(_) => Self::Dead,
        }
    }
}

/// The changes that a batch makes to the counts of routes. Each route is written once in a batch.
#[derive(Debug, Default)]
pub(super) struct Tally {
    changes: HashMap<Box<str>, [i64; 3], KeyHash>,
}

impl Tally {
    /// Adds `by` to a count.
    pub(super) fn add(&mut self, route: &str, column: Column, by: i64) {
        let changes = match self.changes.get_mut(route) {
            Some(changes) => changes,
            None => self.changes.entry(route.into()).or_default(),
        };
        changes[column as usize] += by;
    }

    /// Returns the number of pending tasks of a route, with the changes of the batch in hand.
    pub(super) fn pending(
        &self,
        writes: &Writes<impl Store>,
        route: &str,
    ) -> Result<u64, StoreError> {
        let [waiting, parked, _] = self.changes.get(route).copied().unwrap_or_default();
        let counts = read(writes, &key::route(route))?;
        let before = counts.waiting + counts.parked;
        Ok(before.saturating_add_signed(waiting + parked))
    }

    /// Returns the committed counts over all routes.
    pub(super) fn total(writes: &Writes<impl Store>) -> Result<Counts, StoreError> {
        read(writes, &key::route(""))
    }

    /// Adds the changed counts to the writes.
    pub(super) fn write(&mut self, writes: &mut Writes<impl Store>) -> Result<(), StoreError> {
        let mut sum = [0; 3];
        for (route, changes) in self.changes.drain() {
            for (sum, change) in sum.iter_mut().zip(changes) {
                *sum += change;
            }
            apply(writes, key::route(&route), changes)?;
        }
        apply(writes, key::route(""), sum)
    }
}

fn apply(
    writes: &mut Writes<impl Store>,
    key: Bytes,
    [waiting, parked, dead]: [i64; 3],
) -> Result<(), StoreError> {
    if (waiting, parked, dead) == (0, 0, 0) {
        return Ok(());
    }
    let before = read(writes, &key)?;
    let after = Counts {
        waiting: before.waiting.saturating_add_signed(waiting),
        parked: before.parked.saturating_add_signed(parked),
        dead: before.dead.saturating_add_signed(dead),
    };
    if after.is_empty() {
        writes.remove(Space::Counts, key);
    } else {
        writes.put(Space::Counts, key, record::encode(&after));
    }
    Ok(())
}

fn read(writes: &Writes<impl Store>, key: &[u8]) -> Result<Counts, StoreError> {
    match writes.get(Space::Counts, key)? {
        Some(value) => record::decode(&value),
        None => Ok(Counts::default()),
    }
}
