use std::fmt;

use serde::Deserialize;

/// How a payload is compressed: a label that travels with it. Neither the server nor this client
/// looks inside; compressing is up to the producer, decompressing to the consumer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "String")]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// LZ4.
    Lz4,
    /// Zstandard.
    Zstd,
    /// One that a newer server knows.
    Other(String),
}

impl Compression {
    /// As the protocol has it.
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
