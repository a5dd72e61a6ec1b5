use std::fmt;

use serde::Deserialize;

/// The compression of a payload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "String")]
#[non_exhaustive]
pub enum Compression {
    /// Not compressed.
    #[default]
    None,
    /// One frame of LZ4.
    Lz4,
    /// One frame of Zstandard.
    Zstd,
    /// A label of a newer server.
    Other(String),
}

impl Compression {
    /// The label on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::None => "none",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<String> for Compression {
    fn from(name: String) -> Self {
        match name.as_str() {
            "none" => Self::None,
            "lz4" => Self::Lz4,
            "zstd" => Self::Zstd,
            _ => Self::Other(name),
        }
    }
}
