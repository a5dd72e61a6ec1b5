use std::{io, path::PathBuf};

use hyper_delay_store::StoreError;

/// The store of a stopped server cannot be read, or the output cannot be written. Damage is not an
/// error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SalvageError {
    /// The directory contains no store.
    #[error(
        "{} contains no store: give the data_dir of a server, or of a node of a cluster a folder in \
         shards",
        .0.display()
    )]
    NoStore(PathBuf),
    /// The directory has a commit record and no store.
    #[error(
        "{} has a commit record and no folder store: nothing is left to read; put the folder back \
         from a copy",
        .0.display()
    )]
    StoreGone(PathBuf),
    /// A server uses the directory.
    #[error("{} is in use by a server: stop it first", .0.display())]
    InUse(PathBuf),
    /// The directory for the new store exists already.
    #[error("{} exists already: give a new directory, or delete this one", .0.display())]
    Exists(PathBuf),
    /// A file system operation failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// The new store failed.
    #[error("{}", .0.tool_message())]
    Store(#[from] StoreError),
    /// The output cannot be written.
    #[error("the output cannot be written: {0}")]
    Output(io::Error),
}

impl SalvageError {
    /// Adds the path to an error of the file system.
    pub(super) fn at(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}
