use std::io;
use std::path::Path;

use super::format::VERSION;
use hyper_delay_store::{StoreError, record};

/// A backup cannot be read, or a new store cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The bytes do not begin like a backup.
    #[error(
        "{name} is no backup: it does not begin with HDBACKUP; give a file that `hyper-delay backup` \
         has made"
    )]
    NoBackup {
        /// The name of the backup.
        name: String,
    },
    /// The backup was made by a newer server.
    #[error(
        "{name} was made by a newer server{}: its format is {format}, its records are of version \
         {records}, and this server reads {VERSION} and {}; use that server or a newer one",
        server.as_ref().map(|server| format!(" ({server})")).unwrap_or_default(),
        record::VERSION
    )]
    Newer {
        /// The name of the backup.
        name: String,
        /// The version of the server that made it, if it can be read.
        server: Option<String>,
        /// The version of its format.
        format: u32,
        /// The version of its records.
        records: u8,
    },
    /// The bytes are not those that a server has written.
    #[error("{name} is damaged at byte {at}: {what}; use another backup")]
    Damaged {
        /// The name of the backup.
        name: String,
        /// Where, in bytes from its start.
        at: u64,
        /// The damage.
        what: String,
    },
    /// The rows do not belong together.
    #[error(
        "{name} is not consistent: {what}; use another backup. If it was made just now, the store of \
         its server is damaged: stop the server, and `hyper-delay verify` its data_dir"
    )]
    Inconsistent {
        /// The name of the backup.
        name: String,
        /// The contradiction.
        what: String,
    },
    /// A file cannot be read or written.
    #[error("{name}: {source}")]
    Io {
        /// The file.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// The directory is not empty.
    #[error(
        "{name} is not empty, it has {found}: give a new or an empty directory; what is there is \
         never overwritten"
    )]
    NotEmpty {
        /// The directory.
        name: String,
        /// An entry of the directory.
        found: String,
    },
    /// An earlier restore or import was interrupted.
    #[error(
        "{name} has what is left of a restore or import that was interrupted, and has {found}: \
         delete what is in it, or give another directory, then begin again"
    )]
    Unfinished {
        /// The directory.
        name: String,
        /// Another entry of the directory.
        found: String,
    },
    /// The new store failed.
    #[error("{}", .0.tool_message())]
    Store(#[from] StoreError),
}

impl BackupError {
    /// Adds the path to an error of the file system.
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let name = path.display().to_string();
        move |source| Self::Io { name, source }
    }
}
