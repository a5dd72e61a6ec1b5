use std::{error::Error, io};

use crate::tls::TlsError;
use hyper_delay_config::Exposed;
use hyper_delay_fjall::file_descriptors;
use hyper_delay_protocol::access::TokenFileError;
use hyper_delay_store::StoreError;

/// The reason why a server ended without being asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The store could not be opened, or its disk failed. With `sync` set to `always`, all
    /// acknowledged tasks had been synced to the disk. With `interval` and `never`, tasks that were
    /// acknowledged after the last sync can be missing.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A thread could not be started.
    #[error("a thread could not be started: {0}")]
    Thread(#[from] io::Error),
    /// The TLS files cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The file of tokens cannot be used.
    #[error(transparent)]
    Tokens(#[from] TokenFileError),
    /// The server may not listen on the address of its listener.
    #[error("listening there is refused: {0}")]
    Exposed(#[from] Exposed),
    /// The listener has no address.
    #[error("the address of the listener cannot be read: {0}")]
    Listener(#[source] io::Error),
    /// A thread has panicked: a fault of the server. The store is as after a crash of the process.
    #[error(
        "the thread {0} has panicked, a fault of the server; the store is as after a crash: start \
         the server again"
    )]
    Panicked(&'static str),
    /// The server cannot take part in its cluster. The box holds a
    /// `hyper_delay::ClusterError`.
    #[error(transparent)]
    Cluster(Box<dyn Error + Send + Sync>),
    /// The process may open too few files for the store and a few connections.
    #[error(
        "the limit of open files is {limit}: raise it to {} or more (ulimit -n)",
        file_descriptors::MIN_LIMIT
    )]
    TooFewFiles {
        /// The limit.
        limit: u64,
    },
}
