use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::protocol::Compression;

/// The content of a revision, which its deliveries carry. It is written once and never changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task<'a> {
    /// The scheduled time in Unix milliseconds.
    pub fire_at: u64,
    /// The label of the payload.
    pub compression: Compression,
    /// The payload, which the server does not interpret.
    pub payload: &'a [u8],
}

/// A 128-bit XXH3 hash of a content. Only contents of the same name are compared: a chance
/// collision is negligible, and a client that constructs one affects only its own task.
pub(crate) type Digest = [u8; 16];

impl Task<'_> {
    /// Returns the digest of this content.
    #[must_use]
    pub(crate) fn digest(&self) -> Digest {
        let mut hasher = Xxh3::new();
        hasher.update(&self.fire_at.to_be_bytes());
        hasher.update(self.compression.as_str().as_bytes());
        hasher.update(b"\n");
        hasher.update(self.payload);
        hasher.digest128().to_be_bytes()
    }
}
