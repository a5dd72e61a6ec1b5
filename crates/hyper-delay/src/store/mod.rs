//! What is on disk, as the rest of the server sees it: sorted spaces of keys, written in atomic batches.

mod aside;
mod batch;
pub(crate) mod commits;
mod disk;
mod embedded;
mod error;
#[cfg(test)]
pub(crate) mod fake;
mod inspect;
pub mod journal;
mod marker;
pub(crate) mod place;

use std::ops::ControlFlow;

pub use batch::Batch;
pub use disk::Room;
pub use embedded::{Embedded, OpenOptions};
pub use error::StoreError;
pub use marker::Marker;

/// A sorted space of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Space {
    /// Sequence number to content.
    Tasks,
    /// Route and id to where the task is.
    Names,
    /// Time and sequence number to an entry: what waits.
    Waiting,
    /// Route, time and sequence number to an entry: what is due and has nobody to take it.
    Parked,
    /// Route, time of death and sequence number to an entry.
    Dead,
    /// Names of tasks that are done, in two generations that take turns.
    DoneEven,
    /// The other generation.
    DoneOdd,
    /// Route to how many tasks it has in each state.
    Counts,
    /// Sequence numbers, the low-water mark, the version.
    Meta,
}

impl Space {
    /// All, in the order of their numbers.
    pub(crate) const ALL: [Self; 9] = [
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

    pub(crate) const fn name(self) -> &'static str {
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

/// How far a batch has to go before [`Store::commit`] returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// To the operating system: it survives the end of the process.
    Written,
    /// To the disk: it survives the loss of power.
    Synced,
}

/// A key or a value, as the store keeps it: short ones in place, long ones shared.
pub type Bytes = fjall::Slice;

/// What gets each key and value of a scan, and says whether to go on.
pub type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// Sorted spaces of keys on a disk.
///
/// Implementations must:
///
/// - apply a batch whole or not at all, also over a crash;
/// - keep the order of batches over a crash: if one is there, so are all before it;
/// - have what is `Synced` on the disk when `commit` returns, with all that was committed before it;
/// - show what is committed to every read that starts later, from any thread;
/// - after an error in writing, refuse to write.
pub trait Store: Send + Sync + 'static {
    /// The value of a key.
    ///
    /// # Errors
    ///
    /// If the disk cannot be read.
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, StoreError>;

    /// Visits the keys from `from` on, in their order, until there are no more or `visit` breaks.
    ///
    /// # Errors
    ///
    /// If the disk cannot be read.
    fn scan(&self, space: Space, from: &[u8], visit: &mut Visit<'_>) -> Result<(), StoreError>;

    /// Writes a batch.
    ///
    /// # Errors
    ///
    /// If it could not be written, or synced. It may be there after the next start, or not.
    fn commit(&self, batch: Batch, durability: Durability) -> Result<(), StoreError>;

    /// Removes every key of a space, in constant time. It need not be atomic with any batch.
    ///
    /// # Errors
    ///
    /// If the disk failed.
    fn clear(&self, space: Space) -> Result<(), StoreError>;

    /// Makes room on the disk for the next batch, and returns how much there is. `tasks` is the
    /// number of tasks in the store: room to finish them is kept.
    ///
    /// Default: [`Room::AMPLE`], for a store without a disk of its own.
    ///
    /// # Errors
    ///
    /// If the disk failed.
    fn room(&self, tasks: u64) -> Result<Room, StoreError> {
        let _ = tasks;
        Ok(Room::AMPLE)
    }

    /// Brings all that was committed to the disk.
    ///
    /// # Errors
    ///
    /// If the disk failed.
    fn sync(&self) -> Result<(), StoreError>;
}
