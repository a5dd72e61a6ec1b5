//! The label that names the compression of a payload.

use serde::{Deserialize, Serialize};

/// The compression of a payload, as its producer declares it. The server reads a compressed payload
/// only for a consumer that does not [accept](super::Accept) its compression.
///
/// Stored tasks contain the position of a variant: append new variants and never move one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Not compressed, or not declared. The default.
    #[default]
    None,
    /// One frame of LZ4.
    Lz4,
    /// One frame of Zstandard.
    Zstd,
}

impl Compression {
    /// All compressions.
    pub const ALL: [Self; 3] = [Self::None, Self::Lz4, Self::Zstd];

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
