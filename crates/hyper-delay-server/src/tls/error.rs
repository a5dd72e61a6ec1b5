use std::{io, path::PathBuf};

/// TLS files that cannot be used. No message contains a part of a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error(
        "{field} is {file:?}, which cannot be read: {source}; give a file in PEM that the user of \
         the server may read"
    )]
    Unreadable {
        /// The field of the configuration.
        field: &'static str,
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file has no usable content.
    #[error("{field} is {file:?}, {why}")]
    Unusable {
        /// The field of the configuration.
        field: &'static str,
        /// The file.
        file: PathBuf,
        /// The cause and the cure.
        why: String,
    },
}
