mod commit_tracker;
mod cut_journal;
mod memory_budget;
mod open;
#[cfg(any(test, feature = "test-util"))]
mod test_util;

use std::{
    fmt,
    ops::ControlFlow,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use fjall::{
    AbstractTree as _, Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch as WriteBatch,
    PersistMode,
    compaction::Leveled,
    config::{BlockSizePolicy, FilterPolicy, FilterPolicyEntry, PartitioningPolicy, PinningPolicy},
};
use lsm_tree::Guard as _;

use super::{
    CommitMarker, damaged_tables,
    data_directory::{self, DataDirectory},
    disk::{DiskCheck, DiskMonitor, StoreUsage},
    files::FileFault,
    fjall_error,
};
use commit_tracker::CommitTracker;
use hyper_delay_store::{
    Batch, Bytes, DiskSpace, Durability, ReadStore, Snapshot, Space, Store, StoreError, Visit,
};
use memory_budget::MemoryBudget;
pub use open::OpenOptions;
pub use open::lock;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::store::embedded";

/// Bytes of all that was written since the oldest memtable that has not gone to a file; replayed at
/// the next start. The library's minimum.
const MAX_JOURNAL_BYTES: u64 = 64 << 20;

/// Whether the tables of a level are few and small, by level; the last value applies to all deeper
/// levels.
const SMALL_LEVELS: [bool; 2] = [true, false];

/// The most bytes that the journal adds to a key and its value, and to a batch.
const JOURNAL_OVERHEAD: u64 = 64;

/// A key that no space has. It is removed where a memtable must not be empty.
pub const NO_KEY: &[u8] = b"no key";

/// The store in the process itself: a log-structured merge tree by the crate `fjall`, tuned for
/// little memory, with a commit record beside it.
pub struct Embedded {
    database: Database,
    spaces: Vec<Keyspace>,
    budget: MemoryBudget,
    commits: Mutex<CommitTracker>,
    disk: DiskMonitor,
    /// Dropped after all else is closed.
    data: DataDirectory,
}

impl Embedded {
    /// Opens the store in a directory, or makes one if there is none. One process at a time can
    /// have it.
    ///
    /// Before it opens the store it compares the store's tables and journals with the commit
    /// record:
    ///
    /// - If an acknowledged commit is missing, or the record itself, it refuses and leaves the
    ///   store's data as it is.
    /// - An unreadable end of a journal with nothing that the record names is what a crash leaves
    ///   of an unacknowledged write. It is copied to a folder beside the store, logged and cut off.
    /// - A store without a record in which no commit is numbered was written by an older version.
    ///   It gets a record; what it lost before cannot be known.
    ///
    /// # Errors
    ///
    /// If another process has it, acknowledged commits are missing, or its files cannot be read or
    /// written. If a loss is accepted, missing commits are an error only if a space cannot be
    /// opened at all.
    pub fn open_with(directory: &Path, options: OpenOptions) -> Result<Self, StoreError> {
        open::open(directory, options)
    }

    /// Opens the store and accepts no loss.
    ///
    /// # Errors
    ///
    /// Those of [`open_with`](Self::open_with).
    #[cfg(any(test, feature = "test-util"))]
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        Self::open_with(directory, OpenOptions::default())
    }

    /// Limits the size of the file `reserve` in the data directory, whose space is used when the
    /// disk is full. Default: what finishing the stored tasks may need, about 1 GiB at most.
    #[must_use]
    pub fn with_reserve(self, most: u64) -> Self {
        self.disk.limit_reserve(most);
        self
    }

    fn usage(&self, tasks: u64) -> StoreUsage {
        let memtable = self.budget.memtable;
        let mut usage = StoreUsage {
            tasks,
            ..StoreUsage::default()
        };
        for space in &self.spaces {
            // A sealed memtable went over its limit by a part of a batch.
            let sealed = space.sealed_memtable_count() as u64 * (memtable + memtable / 2);
            let unflushed = space.tree.active_memtable().size() + sealed;
            let tables = space.disk_space();
            usage.unflushed += unflushed;
            usage.tables += tables;
            usage.largest = usage.largest.max(unflushed + tables);
        }
        usage
    }

    /// Starts to write all memtables to tables. An empty memtable of a space with tables is
    /// written, too, because the library compacts a space only after it got a table.
    fn start_flush(&self) -> Result<(), fjall::Error> {
        for space in &self.spaces {
            let is_empty = space.disk_space() == 0 && space.tree.active_memtable().is_empty();
            if is_empty || space.sealed_memtable_count() > 0 {
                continue;
            }
            space.remove(NO_KEY)?;
            space.rotate_memtable()?;
        }
        Ok(())
    }

    /// Seals the memtables that are full.
    ///
    /// The library would do it in the background: each commit to a full memtable sends a message to
    /// its worker. During a long compaction thousands of commits fill the worker's queue, and the
    /// worker, which sends to the same queue, then waits for ever: no memtable is written any more
    /// (fjall's pull request 323). A memtable that is sealed here causes one message.
    fn seal_full(&self) -> Result<(), fjall::Error> {
        for space in &self.spaces {
            if space.tree.active_memtable().size() > self.budget.memtable {
                space.rotate_memtable()?;
            }
        }
        Ok(())
    }

    /// Compares every table with its checksum, until `is_cancelled` returns true. Returns an error if
    /// any is damaged.
    pub fn find_damage(&self, is_cancelled: &dyn Fn() -> bool) -> Option<StoreError> {
        let faults = self.damaged_tables(is_cancelled);
        (!faults.is_empty()).then(|| damaged_tables::error("write", &faults))
    }

    /// Compares every table with its checksum, until `is_cancelled` returns true.
    fn damaged_tables(&self, is_cancelled: &dyn Fn() -> bool) -> Vec<FileFault> {
        let list = self.data.store().join(KEYSPACES).join("0");
        let mut faults = damaged_tables::find(&list, None, is_cancelled);
        for space in Space::ALL {
            let folder = self.space(space).path();
            faults.extend(damaged_tables::find(folder, Some(space), is_cancelled));
        }
        faults
    }

    fn space(&self, space: Space) -> &Keyspace {
        &self.spaces[space as usize]
    }

    fn commits(&self) -> MutexGuard<'_, CommitTracker> {
        self.commits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_error(&self, space: Space) -> impl FnOnce(fjall::Error) -> StoreError {
        move |error| {
            let error = fjall_error::to_store_error("read", error).in_space(space);
            if error.is_damage() {
                error.in_folder(self.space(space).path())
            } else {
                error
            }
        }
    }
}

/// The folder in a store that has a folder for each space.
const KEYSPACES: &str = "keyspaces";

/// Makes the files of a new store.
fn create_spaces(directory: &Path, budget: MemoryBudget) -> Result<(), fjall::Error> {
    open_spaces(directory, budget).map(drop)
}

fn open_spaces(
    directory: &Path,
    budget: MemoryBudget,
) -> Result<(Database, Vec<Keyspace>), fjall::Error> {
    let database = Database::builder(directory)
        .cache_size(budget.cache)
        .max_journaling_size(MAX_JOURNAL_BYTES)
        .worker_threads(1)
        .max_cached_files(Some(budget.open_tables))
        .open()?;
    let spaces = Space::ALL
        .into_iter()
        .map(|space| database.keyspace(space.name(), || options(space, budget)))
        .collect::<Result<_, _>>()?;
    // The library makes the folder of a new space in this one, and does not sync that name.
    data_directory::sync(&directory.join(KEYSPACES))?;
    Ok((database, spaces))
}

/// Returns the options of a space. Only spaces in which absent keys are looked up have filters.
/// Each read searches the few tables of the first level, so their indexes and filters stay in
/// memory; those of deeper levels are read in blocks and cached.
fn options(space: Space, budget: MemoryBudget) -> KeyspaceCreateOptions {
    let filter = match space {
        Space::Names | Space::DoneEven | Space::DoneOdd => {
            FilterPolicyEntry::Bloom(fjall::config::BloomConstructionPolicy::BitsPerKey(10.0))
        }
        _ => FilterPolicyEntry::None,
    };
    let merging = Leveled::default()
        .with_l0_threshold(budget.l0_tables)
        .with_table_target_size(budget.table);
    KeyspaceCreateOptions::default()
        .max_memtable_size(budget.memtable)
        .compaction_strategy(Arc::new(merging))
        .data_block_size_policy(BlockSizePolicy::all(8 << 10))
        .filter_policy(FilterPolicy::all(filter))
        .filter_block_partitioning_policy(PartitioningPolicy::new(SMALL_LEVELS.map(|small| !small)))
        .index_block_partitioning_policy(PartitioningPolicy::new(SMALL_LEVELS.map(|small| !small)))
        .filter_block_pinning_policy(PinningPolicy::new(SMALL_LEVELS))
        .index_block_pinning_policy(PinningPolicy::new(SMALL_LEVELS))
}

impl ReadStore for Embedded {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let value = self.space(space).get(key);
        Ok(value.map_err(self.read_error(space))?.map(Bytes::from))
    }

    fn scan(&self, space: Space, from: &[u8], visit: &mut Visit<'_>) -> Result<(), StoreError> {
        // The marker is the last key of a space, and is none of the caller's.
        if from >= CommitMarker::KEY {
            return Ok(());
        }
        for guard in self.space(space).range(from..CommitMarker::KEY) {
            let (key, value) = guard.into_inner().map_err(self.read_error(space))?;
            if let ControlFlow::Break(()) = visit(&key, &value) {
                break;
            }
        }
        Ok(())
    }

    /// The rows are read from the memtables and tables of this moment, which the iterators keep. A
    /// snapshot of the library that lived as long would keep every later memtable in memory, too.
    fn snapshot(&self) -> Result<Snapshot, StoreError> {
        let commits = self.commits();
        let commit = commits.commit();
        let moment = self.database.snapshot();
        let spaces: Vec<_> = Space::ALL
            .into_iter()
            .map(|space| {
                let keyspace = self.space(space);
                let rows = keyspace
                    .tree
                    .range(..CommitMarker::KEY, moment.seqno(), None);
                (space, keyspace.path().to_owned(), rows)
            })
            .collect();
        drop(moment);
        drop(commits);
        let rows = spaces.into_iter().flat_map(|(space, folder, rows)| {
            rows.map(move |row| {
                let (key, value) = row.into_inner().map_err(|error| {
                    let error = fjall_error::to_store_error("read", error.into()).in_space(space);
                    match error.is_damage() {
                        true => error.in_folder(&folder),
                        false => error,
                    }
                })?;
                Ok((space, key.into(), value.into()))
            })
        });
        Ok(Snapshot {
            commit,
            rows: Box::new(rows),
        })
    }

    fn size(&self) -> Result<u64, StoreError> {
        let size = self.database.disk_space();
        size.map_err(|error| fjall_error::to_store_error("read the size", error))
    }
}

impl Store for Embedded {
    fn rows(&self, space: Space, from: &[u8]) -> hyper_delay_store::SpaceRows<'_> {
        // As in `scan`, the marker is not shown.
        let from = from.min(CommitMarker::KEY);
        let rows = self.space(space).range(from..CommitMarker::KEY);
        Box::new(rows.map(move |row| {
            let (key, value) = row.into_inner().map_err(self.read_error(space))?;
            Ok((key.into(), value.into()))
        }))
    }

    fn commit(&self, batch: Batch, durability: Durability) -> Result<(), StoreError> {
        if batch.is_empty() {
            return Ok(());
        }
        let mut commits = self.commits();
        let (totals, markers) = commits.next_commit(&batch);
        let capacity = batch.len() + markers.len();
        let writes = WriteBatch::with_capacity(self.database.clone(), capacity);
        let mut writes = writes.durability(Some(match durability {
            Durability::Written => PersistMode::Buffer,
            Durability::Synced => PersistMode::SyncData,
        }));
        let mut bytes = JOURNAL_OVERHEAD;
        for (space, key, value) in batch.into_writes() {
            bytes += JOURNAL_OVERHEAD
                + (key.len() + value.as_ref().map_or(0, |value| value.len())) as u64;
            match value {
                Some(value) => writes.insert(self.space(space), key, value),
                None => writes.remove(self.space(space), key),
            }
        }
        for (space, marker) in markers {
            bytes += JOURNAL_OVERHEAD + (CommitMarker::KEY.len() + marker.len()) as u64;
            writes.insert(self.space(space), CommitMarker::KEY, marker);
        }
        self.disk.record_journal_write(bytes);
        writes
            .commit()
            .map_err(|error| fjall_error::to_store_error("write", error))?;
        commits.record_commit(totals, durability)?;
        drop(commits);
        self.seal_full()
            .map_err(|error| fjall_error::to_store_error("seal a memtable", error))
    }

    fn clear(&self, space: Space) -> Result<(), StoreError> {
        self.commits().record_clear(space, || {
            self.space(space)
                .clear()
                .map_err(|error| fjall_error::to_store_error("clear a space", error))
        })
    }

    fn disk_space(&self, tasks: u64) -> Result<DiskSpace, StoreError> {
        let DiskCheck { space, needs_flush } = self.disk.check(|| self.usage(tasks));
        if needs_flush {
            self.start_flush()
                .map_err(|error| fjall_error::to_store_error("flush", error))?;
        }
        Ok(space)
    }

    fn sync(&self) -> Result<(), StoreError> {
        let mut commits = self.commits();
        self.database
            .persist(PersistMode::SyncData)
            .map_err(|error| fjall_error::to_store_error("sync", error))?;
        commits.record_sync()
    }

    fn diagnose(&self, error: StoreError) -> StoreError {
        if !error.is_background_write() && !error.is_corruption() {
            return error;
        }
        let faults = self.damaged_tables(&|| false);
        if faults.is_empty() {
            return error;
        }
        let noted = damaged_tables::write_note(self.data.path(), &self.data.store(), &faults);
        if let Err(error) = noted {
            tracing::warn!(
                target: TARGET,
                %error,
                "the damage could not be noted for the next start",
            );
        }
        damaged_tables::error(error.action(), &faults)
    }
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
