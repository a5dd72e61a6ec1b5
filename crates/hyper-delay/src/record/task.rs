use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::protocol::Compression;

/// The content of a task: what a delivery is made of. It is written once, and never changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task<'a> {
    /// Unix milliseconds, as it was scheduled.
    pub fire_at: u64,
    /// The label that travels with the payload.
    pub compression: Compression,
    /// Opaque.
    pub payload: &'a [u8],
}

/// Tells contents apart: XXH3 with 128 bits. Two contents of one name that collide by chance are not to be
/// expected; a client could make such, and would deceive itself alone.
pub type Digest = [u8; 16];

impl Task<'_> {
    /// The digest of this content.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut hasher = Xxh3::new();
        hasher.update(&self.fire_at.to_be_bytes());
        hasher.update(self.compression.as_str().as_bytes());
        hasher.update(b"\n");
        hasher.update(self.payload);
        hasher.digest128().to_be_bytes()
    }
}
