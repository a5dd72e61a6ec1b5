use hyper_delay_archive::backup::BackupError;
use hyper_delay_store::StoreError;

/// A store cannot be taken into a cluster. The message is the cure.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The stores of the shards cannot be made.
    #[error(transparent)]
    New(#[from] BackupError),
    /// A store failed.
    #[error("{}", .0.tool_message())]
    Store(#[from] StoreError),
    /// The store has a part of the tasks of a cluster.
    #[error(
        "this is the store of one shard of a cluster: to take its tasks into another cluster, export \
         each shard with `hyper-delay export`, see \"etcd is lost\" in docs/cluster.md"
    )]
    OneShard,
    /// The spaces of the store may disagree.
    #[error(
        "a loss was accepted, and the store has not been made consistent since: start the server \
         without a cluster once, stop it, then begin again"
    )]
    Mending,
    /// A newer server wrote the store.
    #[error(
        "space meta has the key {0:?}, which this version does not know: import the store with the \
         version of hyper-delay that wrote it"
    )]
    Unknown(String),
    /// A row refers to a task that is not there.
    #[error(
        "space {space} has the number {number}, which no task has: check the store with `hyper-delay \
         verify`"
    )]
    Stray {
        /// The space of the row.
        space: &'static str,
        /// The number.
        number: u64,
    },
    /// The shards have other rows than the store.
    #[error(
        "the shards have {after} rows in space {space} instead of {before}: nothing was imported; \
         report this defect"
    )]
    Different {
        /// The space.
        space: &'static str,
        /// The rows that the shards should have.
        before: u64,
        /// The rows that they have.
        after: u64,
    },
}
