/// The number of members of a group. Loom explores all interleavings, so its groups are small.
#[cfg(not(loom))]
pub(crate) const BITS: usize = usize::BITS as usize;
#[cfg(loom)]
pub(crate) const BITS: usize = 2;

/// A word with the bits of all members.
pub(crate) const ALL_BITS: usize = usize::MAX >> (usize::BITS as usize - BITS);
