use std::io;
#[cfg(any(feature = "cli", test))]
use std::path::Path;

use super::format::VERSION;
use hyper_delay_store::{StoreError, record};

/// A backup cannot be read, or a new store cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum BackupError {
    /// The bytes do not begin like a backup.
    #[error(
        "{name} is no backup: it does not begin with HDBACKUP; give a file that `hyper-delay backup` \
         has made"
    )]
    NoBackup { name: String },
    /// The backup was made by a newer server.
    #[error(
        "{name} was made by a newer server{}: its format is {format}, its records are of version \
         {records}, and this server reads {VERSION} and {}; use that server or a newer one",
        server.as_ref().map(|server| format!(" ({server})")).unwrap_or_default(),
        record::VERSION
    )]
    Newer {
        name: String,
        server: Option<String>,
        format: u32,
        records: u8,
    },
    /// The bytes are not those that a server has written.
    #[error("{name} is damaged at byte {at}: {what}; use another backup")]
    Damaged { name: String, at: u64, what: String },
    /// The rows do not belong together.
    #[cfg(any(feature = "cli", test))]
    #[error(
        "{name} is not consistent: {what}; use another backup. If it was made just now, the store of \
         its server is damaged: stop the server, and `hyper-delay verify` its data_dir"
    )]
    Inconsistent { name: String, what: String },
    /// A file cannot be read or written.
    #[error("{name}: {source}")]
    Io { name: String, source: io::Error },
    /// The directory is not empty.
    #[cfg(any(feature = "cli", test))]
    #[error(
        "{name} is not empty, it has {found}: give a new or an empty directory; what is there is \
         never overwritten"
    )]
    NotEmpty { name: String, found: String },
    /// An earlier restore or import was interrupted.
    #[cfg(any(feature = "cli", test))]
    #[error(
        "{name} has what is left of a restore or import that was interrupted, and has {found}: \
         delete what is in it, or give another directory, then begin again"
    )]
    Unfinished { name: String, found: String },
    /// The new store failed.
    #[error("{}", .0.of_a_tool())]
    Store(#[from] StoreError),
}

impl BackupError {
    /// Adds the path to an error of the file system.
    #[cfg(any(feature = "cli", test))]
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let name = path.display().to_string();
        move |source| Self::Io { name, source }
    }
}
