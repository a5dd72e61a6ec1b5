//! Decompresses payloads for consumers that do not accept their compression.
//!
//! A payload comes from a client, so nothing that it claims is believed: memory grows with what was
//! decompressed, up to a limit that the caller gives, and there is no work beyond that.

mod delivery;
mod lz4;
mod zstd;

use std::panic;

pub use delivery::encode;

use crate::Compression;

/// The reason why a payload was not decompressed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InflateError {
    /// It is not what its compression says.
    #[error("the payload is not one whole {name} frame: {why}", name = compression.as_str())]
    Invalid {
        /// The declared compression.
        compression: Compression,
        /// The fault: a fixed text, which has nothing of the payload.
        why: &'static str,
    },
    /// It would be longer than the limit.
    #[error(
        "the {name} payload, decompressed, does not fit into a delivery: accept {name}, or raise \
         max_line_bytes",
        name = compression.as_str()
    )]
    TooLong {
        /// The declared compression.
        compression: Compression,
        /// The longest payload.
        limit: usize,
    },
}

/// The reason why a frame was not decompressed.
#[derive(Debug, PartialEq, Eq)]
enum FrameError {
    Invalid(&'static str),
    TooLong,
}

impl FrameError {
    const fn invalid(why: &'static str) -> Self {
        Self::Invalid(why)
    }
}

/// Decompresses a payload to at most `limit` bytes.
///
/// # Errors
///
/// If the payload is not what its compression says, or would be longer than `limit`.
pub fn inflate(
    compression: Compression,
    payload: &[u8],
    limit: usize,
) -> Result<Vec<u8>, InflateError> {
    // A defect of a decoder must not end the connection, and every one that the task is given to
    // later.
    let inflated = panic::catch_unwind(|| match compression {
        Compression::None if payload.len() > limit => Err(FrameError::TooLong),
        Compression::None => Ok(payload.to_vec()),
        Compression::Lz4 => lz4::inflate(payload, limit),
        Compression::Zstd => zstd::inflate(payload, limit),
    });
    let inflated =
        inflated.unwrap_or_else(|_| Err(FrameError::invalid("the decoder has panicked")));
    inflated.map_err(|fault| match fault {
        FrameError::Invalid(why) => InflateError::Invalid { compression, why },
        FrameError::TooLong => InflateError::TooLong { compression, limit },
    })
}

#[cfg(test)]
mod tests;
