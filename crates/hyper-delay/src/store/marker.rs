use serde::{Deserialize, Serialize};

use super::{Bytes, StoreError};
use crate::record;

/// The number of the last commit that changed a space: every batch writes one into each space that
/// it touches.
///
/// Each marker names the one before it. So a journal that lost a batch, or a missing journal, shows
/// as a marker that does not follow what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Marker {
    /// The number of the commit.
    pub commit: u64,
    /// The commit before it that touched the same space; 0 if there was none since the space was
    /// empty.
    pub before: u64,
    /// Tasks and revisions scheduled in all commits up to this one.
    pub schedules: u64,
    /// Tasks and revisions removed in all commits up to this one.
    pub removals: u64,
}

impl Marker {
    /// The key of the marker in every space. It sorts after all other keys: times and sequence
    /// numbers have at most 16 bytes, other keys begin with a length of at most 128 or a letter.
    pub const KEY: &[u8] = &[0xff; 17];

    pub(super) fn encode(&self) -> Bytes {
        record::encode(self)
    }

    /// Reads the value of a marker.
    ///
    /// # Errors
    ///
    /// If it is not one.
    pub fn decode(value: &[u8]) -> Result<Self, StoreError> {
        record::decode(value)
    }
}
