use std::io::Read;

use super::{SnapshotRequest, row_writer::SnapshotRowWriter};
use crate::{Charter, ShardId, replica::AppliedEntry};
use hyper_delay_archive::backup::{BackupError, BackupReader};
use hyper_delay_store::{
    Batch, Bytes, Durability, Space, Store, StoreError,
    record::{self, key},
};

/// A store was not filled with a snapshot.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FillError {
    /// The received bytes are no complete snapshot.
    #[error("what came is damaged at byte {at}: {what}")]
    Damaged {
        /// The position.
        at: u64,
        /// The damage.
        what: String,
    },
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(BackupError),
    /// It is of another shard or cluster.
    #[error("what came is shard {} of cluster {cluster:032x}, and not the one that was wanted", shard.0)]
    Foreign {
        /// The shard.
        shard: ShardId,
        /// The cluster.
        cluster: u128,
    },
    /// The journal does not continue it.
    #[error("what came ends with entry {synced} of the journal, and entry {least} is needed")]
    TooOld {
        /// The last entry that it contains for sure.
        synced: u64,
        /// The entry that is needed.
        least: u64,
    },
    /// The disk of this node is full but for what is left to the other stores.
    #[error("the disk of data_dir has no room for the copy beside the reserve: free some")]
    NoRoom,
    /// The new store failed.
    #[error("the store for the snapshot: {}", .0.reason())]
    Store(#[from] StoreError),
}

impl From<BackupError> for FillError {
    fn from(error: BackupError) -> Self {
        match error {
            BackupError::Damaged { at, what, .. } => Self::Damaged { at, what },
            BackupError::Store(error) => Self::Store(error),
            error => Self::Unreadable(error),
        }
    }
}

/// Writes a snapshot to an empty store, and syncs it. Leaves `kept` bytes of the disk free. Blocks.
///
/// The note of how far it is goes last, when all rows are on the disk: a store without it is at the
/// beginning of the journal.
///
/// # Errors
///
/// If the snapshot is not whole, is not the one that is wanted, there is no room for it, or the
/// store fails.
pub(crate) fn fill(
    store: &impl Store,
    snapshot: impl Read,
    (charter, wanted): (Charter, SnapshotRequest),
    kept: u64,
) -> Result<(), FillError> {
    let mut reader = BackupReader::open(snapshot, "the snapshot")?;
    let mut rows = SnapshotRowWriter::new(store, kept);
    let mut synced: Option<Bytes> = None;
    while let Some((space, key, value)) = reader.next_row()? {
        match (space, &*key) {
            (Space::Meta, key::SYNCED) => synced = Some(value),
            (Space::Meta, key::APPLIED) => {}
            _ => rows.put(space, key, value)?,
        }
    }
    check(synced.as_deref(), charter, wanted)?;
    rows.finish()?;
    if let Some(synced) = synced {
        let mut note = Batch::new();
        note.put(Space::Meta, key::APPLIED, synced.clone());
        note.put(Space::Meta, key::SYNCED, synced);
        store.commit(note, Durability::Synced)?;
    }
    Ok(())
}

/// Checks how far a snapshot is. One without a note is at the beginning of the journal.
fn check(
    synced: Option<&[u8]>,
    charter: Charter,
    wanted: SnapshotRequest,
) -> Result<(), FillError> {
    let mut seq = 0;
    if let Some(synced) = synced {
        let synced: AppliedEntry = record::decode(synced)?;
        let AppliedEntry { cluster, shard, .. } = synced;
        if (cluster, shard) != (charter.cluster, wanted.shard) {
            return Err(FillError::Foreign { shard, cluster });
        }
        seq = synced.seq;
    }
    match seq < wanted.least {
        true => Err(FillError::TooOld {
            synced: seq,
            least: wanted.least,
        }),
        false => Ok(()),
    }
}
