//! The store of a shard on one node, fed from the journal.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    Charter, ShardId,
    entry::{self, BadEntry, EncodedEntry, EntryChange, EntryHash, EntryHeader},
};
use hyper_delay_engine::ledger::LedgerView;
use hyper_delay_store::{
    Batch, DiskSpace, Durability, Space, Store, StoreError,
    record::{self, Record, key},
};

/// The last entry that a store contains.
///
/// It is written in the same batch as the changes of that entry, so each snapshot of the store has
/// the one that belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AppliedEntry {
    /// The cluster.
    pub cluster: u128,
    /// The shard.
    pub shard: ShardId,
    /// The place of the entry.
    pub seq: u64,
    /// Its hash.
    pub hash: EntryHash,
    /// Bytes of all entries up to it.
    pub end: u64,
    /// Its time in Unix milliseconds.
    pub now: u64,
}

impl Record<'_> for AppliedEntry {}

impl AppliedEntry {
    /// Returns how far a store is that contains only the first entry of a journal.
    fn genesis(charter: Charter, shard: ShardId) -> Self {
        let genesis = genesis(charter, shard);
        Self {
            cluster: charter.cluster,
            shard,
            seq: 0,
            hash: genesis.hash,
            end: genesis.bytes.len() as u64,
            now: 0,
        }
    }

    /// Returns how far it is after the next entry, and what that changes.
    fn apply_next(&self, seq: u64, bytes: &[u8]) -> Result<(Self, EntryChange), ApplyError> {
        if seq != self.seq + 1 {
            return Err(ApplyError::Gap {
                found: seq,
                applied: self.seq,
            });
        }
        let bad = |source| ApplyError::Bad { seq, source };
        let (header, change) = entry::decode(bytes).map_err(bad)?;
        let place = (header.cluster, header.shard, header.seq, header.previous);
        if place != (self.cluster, self.shard, seq, self.hash) {
            return Err(ApplyError::Foreign { seq });
        }
        let hash = entry::hash(bytes);
        Ok((self.after(seq, header.now, hash, bytes.len()), change))
    }

    /// Returns how far it is after an entry.
    fn after(&self, seq: u64, now: u64, hash: EntryHash, length: usize) -> Self {
        Self {
            seq,
            hash,
            end: self.end + length as u64,
            now: now.max(self.now),
            ..*self
        }
    }
}

/// The most bytes of rows that are written in one commit, unless one entry has more.
const MOST_BYTES: usize = 256 << 10;

/// Returns the first entry of a journal, which changes nothing.
pub(crate) fn genesis(charter: Charter, shard: ShardId) -> EncodedEntry {
    EntryChange::Writes(Batch::new()).encode(EntryHeader {
        cluster: charter.cluster,
        shard,
        seq: 0,
        epoch: 0,
        nonce: 0,
        previous: 0,
        offset: 0,
        now: 0,
        counted: (0, 0),
        clears: None,
    })
}

/// An entry cannot be applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApplyError {
    /// It is not the next one. Nothing has changed, and the next one may come.
    #[error("entry {found} does not follow entry {applied}")]
    Gap {
        /// The place of the entry.
        found: u64,
        /// The last one that is applied.
        applied: u64,
    },
    /// It does not belong to what the store contains.
    #[error(
        "entry {seq} of the journal does not follow what this node has applied: the journal was \
         restored or made anew, the data belongs to another cluster, or `hyper-delay cluster import` \
         broke off. In that case stop all nodes, and run it again. Otherwise, if another node leads \
         the shard, stop this one, move its data_dir away, and start it again: it takes the tasks \
         from there. If none does, keep every data_dir, and read \"etcd is lost\" in docs/cluster.md"
    )]
    Foreign {
        /// Its place.
        seq: u64,
    },
    /// It cannot be read.
    #[error("entry {seq} of the journal: {source}")]
    Bad {
        /// Its place.
        seq: u64,
        /// Why.
        source: BadEntry,
    },
    /// The disk has no room for it. Nothing has changed, and it may come again.
    #[error("the disk of data_dir has no room for {0}")]
    NoRoom(RequiredDiskSpace),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The disk space that an entry needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequiredDiskSpace {
    /// Tasks that it schedules.
    pub schedules: u64,
    /// Bytes that it writes.
    pub bytes: usize,
}

impl RequiredDiskSpace {
    /// Some change of stored tasks.
    pub(crate) const CHANGE: Self = Self {
        schedules: 0,
        bytes: 0,
    };

    fn of(change: &EntryChange) -> Self {
        match change {
            EntryChange::Writes(batch) => Self {
                schedules: batch.counted().0,
                bytes: batch.bytes(),
            },
            EntryChange::Clear(_) => Self::CHANGE,
        }
    }

    /// Returns the sum.
    const fn and(self, other: Self) -> Self {
        Self {
            schedules: self.schedules.saturating_add(other.schedules),
            bytes: self.bytes + other.bytes,
        }
    }

    /// Returns whether there is space for it.
    pub(crate) const fn fits(self, disk_space: DiskSpace) -> bool {
        disk_space.admits(self.schedules, self.bytes)
    }
}

impl fmt::Display for RequiredDiskSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { schedules, bytes } = self;
        write!(f, "an entry of {bytes} bytes with {schedules} new tasks")
    }
}

/// The store of a shard, and the last entry that it contains.
///
/// Nothing else writes to that store. What is applied is not synced: the journal is what makes it
/// durable. A start goes back to what was synced for sure, and applies the entries since then once
/// more. That they may be there already, in some of the spaces, does no harm: an entry says what
/// the rows are, not how they change.
#[derive(Debug)]
pub(crate) struct Replica<S> {
    store: Arc<S>,
    applied: AppliedEntry,
}

impl<S: Store> Replica<S> {
    /// Begins where the store was synced for sure.
    ///
    /// # Errors
    ///
    /// If the store cannot be read, or belongs to another cluster or shard.
    pub(crate) fn open(
        store: Arc<S>,
        charter: Charter,
        shard: ShardId,
    ) -> Result<Self, ApplyError> {
        let applied = match store.get(Space::Meta, key::SYNCED)? {
            Some(synced) => record::decode(&synced)?,
            None => AppliedEntry::genesis(charter, shard),
        };
        if (applied.cluster, applied.shard) != (charter.cluster, shard) {
            return Err(ApplyError::Foreign { seq: applied.seq });
        }
        Ok(Self { store, applied })
    }

    /// Returns the store.
    pub(crate) const fn store(&self) -> &Arc<S> {
        &self.store
    }

    /// Returns the last applied entry.
    pub(crate) const fn applied(&self) -> AppliedEntry {
        self.applied
    }

    /// Encodes the entry that follows the last one.
    pub(crate) fn next(
        &self,
        epoch: u64,
        nonce: u64,
        now: u64,
        change: &mut EntryChange,
    ) -> EncodedEntry {
        let applied = self.applied;
        change.encode(EntryHeader {
            cluster: applied.cluster,
            shard: applied.shard,
            seq: applied.seq + 1,
            epoch,
            nonce,
            previous: applied.hash,
            offset: applied.end,
            now: now.max(applied.now),
            counted: (0, 0),
            clears: None,
        })
    }

    /// Makes space on the disk for the next entry, and returns it.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub(crate) fn disk_space(&self) -> Result<DiskSpace, StoreError> {
        let tasks = LedgerView::new(self.store.clone()).totals()?.total();
        self.store.disk_space(tasks)
    }

    /// Applies an entry of the journal, if it is the next one and there is space for it.
    ///
    /// # Errors
    ///
    /// If it is not, does not belong to what the store contains, or the store fails.
    pub(crate) fn apply(
        &mut self,
        seq: u64,
        bytes: &[u8],
        disk_space: DiskSpace,
    ) -> Result<(), ApplyError> {
        let (applied, change) = self.applied.apply_next(seq, bytes)?;
        let wanted = RequiredDiskSpace::of(&change);
        if !wanted.fits(disk_space) {
            return Err(ApplyError::NoRoom(wanted));
        }
        Ok(self.commit(applied, change)?)
    }

    /// Applies the first of these entries of the journal, and in the same commit those that follow
    /// it, as far as there is space for all of them: a node that was away has many to apply. Returns
    /// how many these are.
    ///
    /// # Errors
    ///
    /// Those of [`apply`](Self::apply), for the first one.
    pub(crate) fn apply_some(
        &mut self,
        entries: &[(u64, Arc<[u8]>)],
        disk_space: DiskSpace,
    ) -> Result<usize, ApplyError> {
        let [(seq, first), rest @ ..] = entries else {
            return Ok(0);
        };
        let (mut applied, change) = self.applied.apply_next(*seq, first)?;
        let mut wanted = RequiredDiskSpace::of(&change);
        let EntryChange::Writes(mut batch) = change else {
            return self.apply(*seq, first, disk_space).map(|()| 1);
        };
        if !wanted.fits(disk_space) {
            return Err(ApplyError::NoRoom(wanted));
        }
        let mut number = 1;
        for (seq, bytes) in rest {
            let Ok((next, change)) = applied.apply_next(*seq, bytes) else {
                break;
            };
            let all = wanted.and(RequiredDiskSpace::of(&change));
            let EntryChange::Writes(more) = change else {
                break;
            };
            if all.bytes > MOST_BYTES || !all.fits(disk_space) {
                break;
            }
            batch.append(more);
            (applied, wanted) = (next, all);
            number += 1;
        }
        self.commit(applied, EntryChange::Writes(batch))?;
        Ok(number)
    }

    /// Applies an entry that [`next`](Self::next) has encoded, and that is in the journal now.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub(crate) fn apply_own(
        &mut self,
        now: u64,
        entry: &EncodedEntry,
        change: EntryChange,
    ) -> Result<(), StoreError> {
        let seq = self.applied.seq + 1;
        let applied = self.applied.after(seq, now, entry.hash, entry.bytes.len());
        self.commit(applied, change)
    }

    /// Applies an entry, whether it is the next one or not.
    #[cfg(test)]
    pub(super) fn apply_unchecked(&mut self, seq: u64, bytes: &[u8]) -> Result<(), StoreError> {
        let (header, change) = entry::decode(bytes).expect("it is whole");
        let hash = entry::hash(bytes);
        let applied = self.applied.after(seq, header.now, hash, bytes.len());
        self.commit(applied, change)
    }

    fn commit(&mut self, applied: AppliedEntry, change: EntryChange) -> Result<(), StoreError> {
        let mut batch = match change {
            EntryChange::Writes(batch) => batch,
            EntryChange::Clear(space) => {
                self.store.clear(space)?;
                Batch::new()
            }
        };
        batch.put(Space::Meta, key::APPLIED, record::encode(&applied));
        self.store.commit(batch, Durability::Written)?;
        self.applied = applied;
        Ok(())
    }

    /// Returns the sync that makes everything applied so far durable on this node's disk.
    pub(crate) fn prepare_sync(&self) -> ReplicaSync<S> {
        ReplicaSync {
            store: self.store.clone(),
            applied: self.applied,
        }
    }
}

/// Syncs a store while entries are applied to it.
#[derive(Debug)]
pub(crate) struct ReplicaSync<S> {
    store: Arc<S>,
    applied: AppliedEntry,
}

impl<S: Store> ReplicaSync<S> {
    /// Syncs the store, and notes how far it was. Blocks. Returns the place of the last entry that
    /// is on the disk for sure.
    ///
    /// A space may reach the disk before the others, so the note is written when all are there, and
    /// counts when it is synced itself.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub(crate) fn run(self) -> Result<u64, StoreError> {
        self.store.sync()?;
        let mut note = Batch::new();
        note.put(Space::Meta, key::SYNCED, record::encode(&self.applied));
        self.store.commit(note, Durability::Synced)?;
        Ok(self.applied.seq)
    }
}
