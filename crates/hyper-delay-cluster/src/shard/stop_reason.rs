//! Why a shard has stopped on this node.

use crate::replica::ApplyError;
use hyper_delay_store::StoreError;

/// Why a shard does nothing any more on this node.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StopReason {
    /// The contents of the disk cannot be used with the journal, or the disk has failed.
    #[error(transparent)]
    NotApplied(#[from] ApplyError),
    /// The store has failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The journal ends before what this node has applied.
    #[error(
        "the journal ends with entry {last}, and this node has applied entry {applied}: it was \
         restored or made anew. If another node leads the shard, stop this one, move its data_dir \
         away, and start it again: it takes the tasks from there. If none does, keep every data_dir, \
         and read \"etcd is lost\" in docs/cluster.md"
    )]
    Beyond {
        /// The last entry of the journal.
        last: u64,
        /// The last one that is applied here.
        applied: u64,
    },
    /// The journal begins after what this node has applied.
    #[error(
        "the journal begins with entry {first}, and this node has applied entry {applied}: it \
         takes a snapshot from another node"
    )]
    Behind {
        /// The first entry of the journal.
        first: u64,
        /// The last one that is applied here.
        applied: u64,
    },
}

impl StopReason {
    /// Returns whether the shard resumes with a snapshot of another node.
    pub(crate) fn waits_for_snapshot(&self) -> bool {
        matches!(self, Self::Behind { .. }) || self.is_damage()
    }

    /// Returns whether the contents of the store are the reason.
    pub(crate) fn is_damage(&self) -> bool {
        self.store_error().is_some_and(StoreError::is_corruption)
    }

    /// Returns whether a write in the background is the reason. It can have met damage.
    pub(crate) fn is_background_write(&self) -> bool {
        self.store_error()
            .is_some_and(StoreError::is_background_write)
    }

    const fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) | Self::NotApplied(ApplyError::Store(error)) => Some(error),
            _ => None,
        }
    }

    /// Returns the reason, with the cure if the operator has to do something.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Store(error) | Self::NotApplied(ApplyError::Store(error)) if self.is_damage() => {
                error.reason().to_string()
            }
            why => why.to_string(),
        }
    }
}
