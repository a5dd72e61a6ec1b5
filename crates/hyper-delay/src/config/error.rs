//! Why a configuration is refused.

use std::{io, path::PathBuf};

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The variable is there, but empty.
    #[error("HYPER_DELAY_CONFIG is empty: let it name a file, or unset it")]
    NoName,
    /// The file cannot be read.
    #[error("{}: cannot be read: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is not one JSON object.
    #[error("{file}: not a JSON object: {source}")]
    BadJson {
        /// The file.
        file: String,
        /// Where, and why.
        source: serde_json::Error,
    },
    /// A field does not exist.
    #[error("{file}: {field} is no field: give {known}")]
    UnknownField {
        /// The file.
        file: String,
        /// The name that came.
        field: String,
        /// The names there are.
        known: String,
    },
    /// A field has a value that it cannot have.
    #[error("{file}: {field} is {value}: {cure}")]
    BadField {
        /// The file.
        file: String,
        /// The field.
        field: String,
        /// The value that came, as JSON.
        value: String,
        /// What to give instead.
        cure: String,
    },
}
