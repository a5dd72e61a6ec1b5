use serde::{Deserialize, Serialize};

use hyper_delay_store::{
    Bytes, StoreError,
    record::{self, Record},
};

/// The number of the last commit that changed a space. Every batch writes a marker into each space
/// that it changes.
///
/// Each marker names the one before it, so a missing batch or journal shows as a marker that does
/// not follow the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CommitMarker {
    /// The number of the commit.
    pub commit: u64,
    /// The number of the commit before it that changed the same space. 0 if there was none since
    /// the space was empty.
    pub before: u64,
    /// Number of revisions that were scheduled, in all commits up to this one.
    pub schedules: u64,
    /// Number of revisions that were removed, in all commits up to this one.
    pub removals: u64,
}

impl Record<'_> for CommitMarker {}

impl CommitMarker {
    /// The key of the marker in every space. It sorts after all other keys: times and sequence
    /// numbers have at most 16 bytes, other keys begin with a length of at most 128 or a letter.
    pub const KEY: &[u8] = &[0xff; 17];

    pub(super) fn encode(&self) -> Bytes {
        record::encode(self)
    }

    /// Decodes a marker.
    ///
    /// # Errors
    ///
    /// If the value is not a marker.
    pub fn decode(value: &[u8]) -> Result<Self, StoreError> {
        record::decode(value)
    }
}
