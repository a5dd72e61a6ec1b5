//! Storage: sorted spaces of keys on a disk, written in atomic batches.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod record;

mod batch;
mod disk_space;
mod error;
#[cfg(any(test, feature = "test-util"))]
pub mod fake;

use std::{fmt, ops::ControlFlow};

pub use batch::{Batch, WaitingChange};
pub use disk_space::{DiskSpace, FINISHING_BYTES_PER_TASK, WRITE_AMPLIFICATION};
pub use error::StoreError;

/// A sorted space of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Space {
    /// Sequence number to content.
    Tasks,
    /// Route and id to the state of the task.
    Names,
    /// Due time and sequence number to the entry of a waiting task.
    Waiting,
    /// Route, due time and sequence number to the entry of a parked task.
    Parked,
    /// Route, time of death and sequence number to the entry of a dead letter.
    Dead,
    /// Route and id to a finished task: one generation of the deduplication window.
    DoneEven,
    /// The other generation of the deduplication window.
    DoneOdd,
    /// Route to its counts of tasks by state.
    Counts,
    /// The reserved sequence numbers, the low-water mark, the state of the deduplication window.
    Meta,
}

impl Space {
    /// All spaces, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::Tasks,
        Self::Names,
        Self::Waiting,
        Self::Parked,
        Self::Dead,
        Self::DoneEven,
        Self::DoneOdd,
        Self::Counts,
        Self::Meta,
    ];

    /// Returns the name of the space in messages and in the folder of a store.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Names => "names",
            Self::Waiting => "waiting",
            Self::Parked => "parked",
            Self::Dead => "dead",
            Self::DoneEven => "done-even",
            Self::DoneOdd => "done-odd",
            Self::Counts => "counts",
            Self::Meta => "meta",
        }
    }
}

/// The failures that a batch survives once [`Store::commit`] has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process: the batch is written to the operating system.
    Written,
    /// A power failure: the batch is synced to the disk.
    Synced,
}

/// A key or a value. Short ones are stored inline, long ones are shared between clones.
pub type Bytes = byteview::ByteView;

/// The callback of a scan: receives each key and value, and breaks to end the scan.
pub type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// The keys and values of a space, in order.
pub type SpaceRows<'a> = Box<dyn Iterator<Item = Result<(Bytes, Bytes), StoreError>> + 'a>;

/// A space, a key and its value.
pub type SpaceRow = (Space, Bytes, Bytes);

/// The rows of all spaces at one moment, in the order of spaces and keys, without markers.
pub struct Snapshot {
    /// The number of the last commit that it contains.
    pub commit: u64,
    /// Reads the rows. Later commits do not change them.
    pub rows: Box<dyn Iterator<Item = Result<SpaceRow, StoreError>> + Send>,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Snapshot");
        shown.field("commit", &self.commit).finish_non_exhaustive()
    }
}

/// Read access to sorted spaces of keys.
pub trait ReadStore: Send + Sync + 'static {
    /// Returns the value of a key.
    ///
    /// # Errors
    ///
    /// If the disk cannot be read.
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, StoreError>;

    /// Visits the keys of a space from `from` on, in order, until `visit` breaks.
    ///
    /// # Errors
    ///
    /// If the disk cannot be read.
    fn scan(&self, space: Space, from: &[u8], visit: &mut Visit<'_>) -> Result<(), StoreError>;

    /// Returns the rows of all spaces as they are between two commits. Commits wait only while the
    /// snapshot is taken, not while it is read.
    ///
    /// # Errors
    ///
    /// If the disk cannot be read.
    fn snapshot(&self) -> Result<Snapshot, StoreError>;

    /// Returns the size of the files in bytes.
    ///
    /// Default: 0, for a store without files.
    ///
    /// # Errors
    ///
    /// If the disk cannot be read.
    fn size(&self) -> Result<u64, StoreError> {
        Ok(0)
    }
}

/// Sorted spaces of keys on a disk.
///
/// Implementations must:
///
/// - apply each batch completely or not at all, also after a crash;
/// - keep the order of batches after a crash: if a batch is present, so are all batches before it;
/// - sync a `Synced` batch, and every batch before it, to the disk before `commit` returns;
/// - show a committed batch to every read that starts later, on any thread;
/// - refuse all writes after a failed write.
pub trait Store: ReadStore {
    /// Returns the rows of a space from the key `from` on, in order. Each row is read when the
    /// iterator reaches it.
    fn rows(&self, space: Space, from: &[u8]) -> SpaceRows<'_>;

    /// Writes a batch.
    ///
    /// # Errors
    ///
    /// If the batch cannot be written or synced. It can still be present after the next start.
    fn commit(&self, batch: Batch, durability: Durability) -> Result<(), StoreError>;

    /// Removes all keys of a space in constant time. This need not be atomic with any batch.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    fn clear(&self, space: Space) -> Result<(), StoreError>;

    /// Frees disk space for the next batch and returns the space that the batch may use. `tasks` is
    /// the number of tasks in the store; the space to finish them stays reserved.
    ///
    /// Default: [`DiskSpace::UNLIMITED`], for a store without a disk of its own.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    fn disk_space(&self, tasks: u64) -> Result<DiskSpace, StoreError> {
        let _ = tasks;
        Ok(DiskSpace::UNLIMITED)
    }

    /// Syncs all committed batches to the disk.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    fn sync(&self) -> Result<(), StoreError>;

    /// Returns the error with its cause if damaged files caused it or can have caused it: the library
    /// does not report why a background write failed. Reads all files then, and notes the damaged
    /// ones for the next start. A server calls this once, when an error ends it.
    fn diagnose(&self, error: StoreError) -> StoreError {
        error
    }
}
