use std::io;

use crate::{descriptors, store::StoreError};

/// The reason why a server ended without being asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The disk failed. All acknowledged tasks are on it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A thread could not be started.
    #[error("a thread could not be started: {0}")]
    Thread(#[from] io::Error),
    /// The listener has no address.
    #[error("the address of the listener cannot be read: {0}")]
    Listener(#[source] io::Error),
    /// A thread has panicked: a fault of the server.
    #[error("the thread {0} has panicked; what was acknowledged is on disk")]
    Panicked(&'static str),
    /// The process may open too few files for the store and a few connections.
    #[error(
        "the limit of open files is {limit}: raise it to {} or more (ulimit -n)",
        descriptors::LEAST
    )]
    TooFewFiles {
        /// The limit.
        limit: u64,
    },
}
