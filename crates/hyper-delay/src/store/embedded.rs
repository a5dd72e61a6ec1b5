use std::{fmt, ops::ControlFlow, path::Path};

use fjall::{
    AbstractTree as _, Database, Keyspace, KeyspaceCreateOptions, PersistMode,
    config::{BlockSizePolicy, FilterPolicy, FilterPolicyEntry, PartitioningPolicy, PinningPolicy},
};

use super::{
    Batch, Bytes, Durability, Room, Space, Store, StoreError, Visit,
    disk::{Disk, Usage},
    place::Place,
};
use crate::descriptors::Descriptors;

/// What one space may hold in memory before it goes to a sorted file. There are nine, and each may have a few
/// that are on their way.
const MEMTABLE: u64 = 4 << 20;

/// Blocks of sorted files that were read lately, over all spaces.
const CACHE: u64 = 16 << 20;

/// All that was written since the oldest memtable that has not gone to a file; replayed at the next start. The
/// least that the library allows.
const JOURNALS: u64 = 64 << 20;

/// What the journal adds to a key and its value, and to a batch, at most.
const FRAME: u64 = 64;

/// No space has this key, which is removed where a memtable must not be empty.
const NO_KEY: &[u8] = b"no key";

/// The store in the process itself: a log-structured merge tree by the crate `fjall`, tuned for little memory.
pub struct Embedded {
    database: Database,
    spaces: Vec<Keyspace>,
    disk: Disk,
    /// Given back after all else is closed.
    _place: Place,
}

impl Embedded {
    /// Opens the store in a directory, which it makes if there is none. One process at a time can have it.
    ///
    /// What a crash or a loss of power leaves of a write is left out: nobody was told that it was there. With one
    /// exception: if the disk has the end of the last write and not its middle, it is taken for damaged, and that
    /// is an error. A disk may write in any order, so a loss of power can do that to a write of more than a page;
    /// the end of a process cannot. What was acknowledged is before it, and untouched.
    ///
    /// A damage elsewhere, which no crash does, is an error too, or is taken for the end: a journal has no mark
    /// there that tells these apart.
    ///
    /// # Errors
    ///
    /// If another process has it, or the disk cannot be read or written, or what is there is damaged.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        Self::open_in(directory).map_err(|error| {
            let directory = directory.display();
            let why = match error {
                fjall::Error::Locked => {
                    "another process has it; stop that one, or give this one a data_dir of its own"
                        .into()
                }
                other => reason(other).to_string(),
            };
            StoreError::new("open", format!("data_dir {directory}: {why}"))
        })
    }

    fn open_in(directory: &Path) -> Result<Self, fjall::Error> {
        let place = Place::take(directory)?;
        let disk = Disk::open(directory, place.store());
        if !place.has_store()? {
            place.make(|unfinished| open_spaces(unfinished).map(drop))?;
        }
        let (database, spaces) = open_spaces(&place.store())?;
        Ok(Self {
            database,
            spaces,
            disk,
            _place: place,
        })
    }

    /// Limits the size of the file `reserve` in the data directory, which holds room for a full
    /// disk. Default: what finishing the stored tasks may need, about 1 GiB at most.
    #[must_use]
    pub fn with_reserve(self, most: u64) -> Self {
        self.disk.limit_reserve(most);
        self
    }

    fn usage(&self, tasks: u64) -> Usage {
        let mut usage = Usage {
            tasks,
            ..Usage::default()
        };
        for space in &self.spaces {
            // A sealed memtable went over its limit by a part of a batch.
            let sealed = space.sealed_memtable_count() as u64 * (MEMTABLE + MEMTABLE / 2);
            let unflushed = space.tree.active_memtable().size() + sealed;
            let tables = space.disk_space();
            usage.unflushed += unflushed;
            usage.tables += tables;
            usage.largest = usage.largest.max(unflushed + tables);
        }
        usage
    }

    /// Starts to write all memtables to tables. A space without changes gets a table, too: the
    /// library compacts a space that has some new tables.
    fn flush(&self) -> Result<(), fjall::Error> {
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

    fn space(&self, space: Space) -> &Keyspace {
        &self.spaces[space as usize]
    }
}

fn open_spaces(directory: &Path) -> Result<(Database, Vec<Keyspace>), fjall::Error> {
    let database = Database::builder(directory)
        .cache_size(CACHE)
        .max_journaling_size(JOURNALS)
        .worker_threads(1)
        .max_cached_files(Some(Descriptors::of_process().cached_tables()))
        .open()?;
    let spaces = Space::ALL
        .into_iter()
        .map(|space| database.keyspace(space.name(), || options(space)))
        .collect::<Result<_, _>>()?;
    Ok((database, spaces))
}

/// What the library says, for people.
fn reason(error: fjall::Error) -> Box<dyn std::error::Error + Send + Sync> {
    match error {
        fjall::Error::Io(error) => error.into(),
        fjall::Error::Poisoned => {
            "an earlier write in the background has failed, and was logged then; the disk may be full or failing".into()
        }
        other => other.into(),
    }
}

/// Filters only where keys are asked for that are not there; indexes and filters in blocks that can leave memory.
fn options(space: Space) -> KeyspaceCreateOptions {
    let filter = match space {
        Space::Names | Space::DoneEven | Space::DoneOdd => {
            FilterPolicyEntry::Bloom(fjall::config::BloomConstructionPolicy::BitsPerKey(10.0))
        }
        _ => FilterPolicyEntry::None,
    };
    KeyspaceCreateOptions::default()
        .max_memtable_size(MEMTABLE)
        .data_block_size_policy(BlockSizePolicy::all(8 << 10))
        .filter_policy(FilterPolicy::all(filter))
        .filter_block_partitioning_policy(PartitioningPolicy::all(true))
        .index_block_partitioning_policy(PartitioningPolicy::all(true))
        .filter_block_pinning_policy(PinningPolicy::all(false))
        .index_block_pinning_policy(PinningPolicy::all(false))
}

impl Store for Embedded {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.space(space)
            .get(key)
            .map_err(|error| StoreError::new("read", reason(error)))
    }

    fn scan(&self, space: Space, from: &[u8], visit: &mut Visit<'_>) -> Result<(), StoreError> {
        for guard in self.space(space).range(from..) {
            let (key, value) = guard
                .into_inner()
                .map_err(|error| StoreError::new("read", reason(error)))?;
            if let ControlFlow::Break(()) = visit(&key, &value) {
                break;
            }
        }
        Ok(())
    }

    fn commit(&self, mut batch: Batch, durability: Durability) -> Result<(), StoreError> {
        let mut writes = self.database.batch().durability(Some(match durability {
            Durability::Written => PersistMode::Buffer,
            Durability::Synced => PersistMode::SyncData,
        }));
        let mut bytes = FRAME;
        for (space, key, value) in batch.drain() {
            bytes += FRAME + (key.len() + value.as_ref().map_or(0, |value| value.len())) as u64;
            match value {
                Some(value) => writes.insert(self.space(space), key, value),
                None => writes.remove(self.space(space), key),
            }
        }
        self.disk.wrote(bytes);
        writes
            .commit()
            .map_err(|error| StoreError::new("write", reason(error)))
    }

    fn clear(&self, space: Space) -> Result<(), StoreError> {
        self.space(space)
            .clear()
            .map_err(|error| StoreError::new("clear a space", reason(error)))
    }

    fn room(&self, tasks: u64) -> Result<Room, StoreError> {
        let (room, flush) = self.disk.room(|| self.usage(tasks));
        if flush {
            self.flush()
                .map_err(|error| StoreError::new("flush", reason(error)))?;
        }
        Ok(room)
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.database
            .persist(PersistMode::SyncData)
            .map_err(|error| StoreError::new("sync", reason(error)))
    }
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
