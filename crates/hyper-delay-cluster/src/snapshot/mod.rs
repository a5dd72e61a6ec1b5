//! Snapshots of shards, which one node sends to another.
//!
//! A node fetches one if it cannot continue with the journal: its replica is damaged, or lacks
//! entries that the journal has no more. Another node sends the rows of its own replica, in the format of a
//! [backup](hyper_delay_archive::backup). They are written to a store in a new folder, which takes the place of
//! the replica when it is whole and synced.
//!
//! # Where the journal continues
//!
//! A snapshot contains the note of what was synced on the node that sends it, and the node that
//! receives it begins there, like a node that starts from a disk: some spaces can be newer, and
//! applying the entries since then once more does no harm. The row `applied` would be wrong: after
//! a loss of power it can be newer than the other spaces.
//!
//! The entries since then are [spooled](spool) while the snapshot is on its way, as the journal may
//! be trimmed beyond it.

mod fill;
mod provider;
mod row_writer;
pub(crate) mod spool;
#[cfg(test)]
mod tests;

pub(crate) use fill::{FillError, fill};
pub(crate) use provider::{SnapshotProvider, SnapshotStream, SnapshotUnavailable};

use serde::{Deserialize, Serialize};

use crate::ShardId;

/// The snapshot that a node needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SnapshotRequest {
    /// The shard.
    pub(crate) shard: ShardId,
    /// It must contain this entry of the journal, as the node can only get the ones after it.
    pub(crate) least: u64,
}
