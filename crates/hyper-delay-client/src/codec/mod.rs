#[cfg(feature = "lz4")]
mod lz4;
#[cfg(feature = "zstd")]
mod zstd;

use crate::Compression;

/// How a client compresses payloads. See [`Builder::compress`](crate::Builder::compress).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Codec {
    /// LZ4: fast.
    #[cfg(feature = "lz4")]
    Lz4,
    /// Zstandard, level 3: small.
    #[cfg(feature = "zstd")]
    Zstd,
}

/// Why a frame was not decompressed.
#[derive(Debug)]
enum Fault {
    Invalid(String),
    TooLong,
}

impl Fault {
    fn invalid(why: impl ToString) -> Self {
        Self::Invalid(why.to_string())
    }
}

impl Codec {
    /// The codec of payloads with this compression, if they can be decompressed.
    pub(crate) fn of(compression: &Compression) -> Option<Self> {
        match compression {
            #[cfg(feature = "lz4")]
            Compression::Lz4 => Some(Self::Lz4),
            #[cfg(feature = "zstd")]
            Compression::Zstd => Some(Self::Zstd),
            _ => None,
        }
    }

    pub(crate) fn compression(self) -> Compression {
        match self {
            #[cfg(feature = "lz4")]
            Self::Lz4 => Compression::Lz4,
            #[cfg(feature = "zstd")]
            Self::Zstd => Compression::Zstd,
        }
    }

    /// Compresses a payload as one frame.
    pub(crate) fn compress(self, payload: &[u8]) -> Vec<u8> {
        match self {
            #[cfg(feature = "lz4")]
            Self::Lz4 => lz4::compress(payload),
            #[cfg(feature = "zstd")]
            Self::Zstd => zstd::compress(payload),
        }
    }

    /// Decompresses one frame to at most `limit` bytes. The error is for people.
    pub(crate) fn decompress(self, payload: &[u8], limit: usize) -> Result<Vec<u8>, String> {
        let decompressed = match self {
            #[cfg(feature = "lz4")]
            Self::Lz4 => lz4::decompress(payload, limit),
            #[cfg(feature = "zstd")]
            Self::Zstd => zstd::decompress(payload, limit),
        };
        let name = self.compression();
        decompressed.map_err(|fault| match fault {
            Fault::Invalid(why) => format!("the payload is not one whole {name} frame: {why}"),
            Fault::TooLong => format!(
                "the {name} payload, decompressed, is longer than {limit} bytes: raise \
                 `max_payload_bytes`"
            ),
        })
    }
}

#[cfg(test)]
mod tests;
