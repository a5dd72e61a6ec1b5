use std::io;

use crate::{ShardId, replica::ApplyError};
use hyper_delay_store::StoreError;

/// A node could not be started, or has ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum NodeError {
    /// The data directory or a store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store of a shard belongs to another cluster.
    #[error("shard {}: {source}", shard.0)]
    Replica {
        /// The shard.
        shard: ShardId,
        /// Why.
        source: ApplyError,
    },
    /// The system refused a thread.
    #[error("a thread of the node cannot be started: {0}; raise the limit of threads")]
    Thread(io::Error),
    /// The system gave no random number.
    #[error("the system gives no random number for the lease of the node: {0}")]
    Random(io::Error),
    /// A thread or task has ended by itself, which only a panic does.
    #[error("the {0} of the node has panicked: see the log, and start the node again")]
    Ended(String),
}
