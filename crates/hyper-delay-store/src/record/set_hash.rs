use serde::Serialize;
use xxhash_rust::xxh3::xxh3_128;

/// A hash of a set that does not depend on the order of its elements: the sum of their hashes.
/// Equal sets have equal hashes; different sets have different ones, up to chance collisions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SetHash {
    hashes: u128,
    len: u64,
}

impl SetHash {
    /// Adds an element.
    ///
    /// # Panics
    ///
    /// If an element cannot be serialized.
    pub fn add(&mut self, element: &impl Serialize) {
        let bytes = postcard::to_stdvec(element).expect("a vector takes every record");
        self.hashes = self.hashes.wrapping_add(xxh3_128(&bytes));
        self.len += 1;
    }

    /// Returns whether there are no elements.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Returns the number of elements.
    #[must_use]
    pub const fn len(self) -> u64 {
        self.len
    }
}
