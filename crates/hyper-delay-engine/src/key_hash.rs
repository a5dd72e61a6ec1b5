use std::hash::{BuildHasher, Hasher};

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Hashes keys with XXH3 and a random seed. It is faster than the standard library's hash, and
/// clients that choose ids cannot tell which of them collide.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyHash {
    seed: u64,
}

impl Default for KeyHash {
    fn default() -> Self {
        Self {
            seed: fastrand::u64(..),
        }
    }
}

impl BuildHasher for KeyHash {
    type Hasher = KeyHasher;

    fn build_hasher(&self) -> KeyHasher {
        KeyHasher(self.seed)
    }
}

/// The hash of the bytes so far.
#[derive(Debug)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    fn write_usize(&mut self, length: usize) {
        self.0 = self.0.wrapping_add(length as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
