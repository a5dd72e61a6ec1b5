use serde::Serialize;
use xxhash_rust::xxh3::xxh3_128;

/// A sum over a set that is the same for equal sets, whatever their order. Different sets have
/// different sums, as far as their hashes differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SetSum {
    hashes: u128,
    len: u64,
}

impl SetSum {
    /// Adds an element.
    pub(crate) fn add(&mut self, element: &impl Serialize) {
        let bytes = postcard::to_stdvec(element).expect("a vector takes every record");
        self.hashes = self.hashes.wrapping_add(xxh3_128(&bytes));
        self.len += 1;
    }

    /// Returns the number of elements.
    #[must_use]
    pub(crate) const fn len(self) -> u64 {
        self.len
    }
}
