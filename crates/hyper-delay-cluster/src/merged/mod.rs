//! The replicas of all shards on one node, read as one store.
//!
//! Requests that only read do not know of shards: they read a [`MergedStore`]. A key belongs to one
//! shard ([`owner`]), or every shard has a row under it, and the rows are joined ([`join`]). Rows
//! of different shards are read at different moments.

mod join;
mod merge;
mod owner;
#[cfg(test)]
mod tests;

use std::{
    ops::ControlFlow,
    sync::{Arc, PoisonError, RwLock},
};

use super::ShardId;
use hyper_delay_store::{
    Bytes, ReadStore, Snapshot, Space, Store, StoreError, Visit,
    record::{self, key},
};
use join::join;
use merge::MergedRows;
use owner::{KeyOwner, owner};

/// The replicas of all shards on one node, read as one store. It cannot be written to.
///
/// A scan reads at most two keys of each shard beyond those that it visits.
#[derive(Debug)]
pub(crate) struct MergedStore<S> {
    /// By the numbers of the shards. A replica is replaced when it was made anew.
    stores: Box<[RwLock<Arc<S>>]>,
}

impl<S: Store> MergedStore<S> {
    /// Creates the store of these replicas, which are in the order of the numbers of their shards.
    #[must_use]
    pub(crate) fn new(stores: impl IntoIterator<Item = Arc<S>>) -> Self {
        Self {
            stores: stores.into_iter().map(RwLock::new).collect(),
        }
    }

    /// Reads this replica of a shard from now on. Reads in progress end with the one before.
    pub(crate) fn replace(&self, shard: ShardId, store: Arc<S>) {
        let slot = self.stores.get(usize::from(shard.0));
        let slot = slot.expect("the shard is one of the cluster");
        *slot.write().unwrap_or_else(PoisonError::into_inner) = store;
    }

    /// Returns the number of shards.
    fn shards(&self) -> u16 {
        u16::try_from(self.stores.len()).expect("the shards of a cluster are few")
    }

    /// Returns the replicas of this moment.
    pub(crate) fn all(&self) -> Vec<Arc<S>> {
        self.stores.iter().map(current).collect()
    }
}

fn current<S>(slot: &RwLock<Arc<S>>) -> Arc<S> {
    slot.read().unwrap_or_else(PoisonError::into_inner).clone()
}

impl<S: Store> ReadStore for MergedStore<S> {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        match owner(space, key, self.shards()) {
            KeyOwner::Shard(shard) => match self.stores.get(usize::from(shard.0)) {
                Some(slot) => current(slot).get(space, key),
                None => Ok(None),
            },
            KeyOwner::Each => {
                let values = self.stores.iter();
                let values = values.filter_map(|slot| current(slot).get(space, key).transpose());
                let values = values.collect::<Result<Vec<_>, _>>()?;
                join(space, key, values, self.stores.len())
            }
        }
    }

    fn scan(&self, space: Space, from: &[u8], visit: &mut Visit<'_>) -> Result<(), StoreError> {
        let stores = self.all();
        let rows = stores.iter().map(|store| {
            let from = start(&**store, space, from)?;
            let rows = store.rows(space, &from);
            Ok(rows.map(move |row| row.map(|(key, value)| (space, key, value))))
        });
        let rows = rows.collect::<Result<Vec<_>, StoreError>>()?;
        for row in MergedRows::new(rows) {
            let (_, key, value) = row?;
            if visit(&key, &value) == ControlFlow::Break(()) {
                break;
            }
        }
        Ok(())
    }

    /// Each shard is as it is between two of its commits, and the moments of the shards differ. The
    /// rows are those of a store of a server without a cluster: nothing says that they were a
    /// cluster's but their numbers.
    fn snapshot(&self) -> Result<Snapshot, StoreError> {
        let snapshots = self.all().into_iter().map(|store| store.snapshot());
        let snapshots = snapshots.collect::<Result<Vec<_>, _>>()?;
        Ok(Snapshot {
            commit: snapshots.iter().map(|snapshot| snapshot.commit).sum(),
            rows: Box::new(MergedRows::new(snapshots.into_iter().map(|it| it.rows))),
        })
    }

    fn size(&self) -> Result<u64, StoreError> {
        self.all().iter().map(|store| store.size()).sum()
    }
}

/// Returns the key from which on a shard can have rows. Before its low-water mark there are only
/// the tombstones of its removed waiting tasks, and the marks of other shards can be far behind.
fn start(store: &impl Store, space: Space, from: &[u8]) -> Result<Bytes, StoreError> {
    let from = Bytes::from(from);
    if space != Space::Waiting {
        return Ok(from);
    }
    let mark = match store.get(Space::Meta, key::LOW_WATER)? {
        Some(mark) => record::decode(&mark)?,
        None => 0,
    };
    Ok(from.max(key::time(mark, 0).into()))
}
