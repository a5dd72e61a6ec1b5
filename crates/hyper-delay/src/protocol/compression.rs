//! The label that names the compression of a payload.

use serde::{Deserialize, Serialize};

/// The compression of a payload: a label only. The server never reads payloads.
///
/// Stored tasks contain the position of a variant: append new variants and never move one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Not compressed, or not declared. The default.
    #[default]
    None,
    /// LZ4.
    Lz4,
    /// Zstandard.
    Zstd,
}

impl Compression {
    /// The label on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}
