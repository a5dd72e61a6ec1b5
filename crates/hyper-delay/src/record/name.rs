use serde::{Deserialize, Serialize};

use super::Digest;

/// The state of a task, stored under its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Name {
    /// The sequence number of the revision.
    pub seq: u64,
    /// The scheduled time in Unix milliseconds.
    pub fire_at: u64,
    /// The space and the time of its entry.
    pub place: Place,
    /// Number of rounds so far, over all revisions.
    pub attempt: u32,
    /// Number of rounds that failed since the task was scheduled, replaced or kicked.
    pub failures: u32,
    /// The digest of the content.
    pub digest: Digest,
    /// The length of the payload in bytes. 0 if an older server has written the name.
    #[serde(deserialize_with = "super::or_zero")]
    pub bytes: u64,
}

impl Name {
    /// Returns the bytes of the payload if the task is pending: waiting or parked.
    #[must_use]
    pub(crate) const fn pending_bytes(&self) -> u64 {
        match self.place {
            Place::Waiting(_) | Place::Parked(_) => self.bytes,
            Place::Dead(_) => 0,
        }
    }
}

/// The space that lists a task, and the time it is listed under, in Unix milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Place {
    /// The due time.
    Waiting(u64),
    /// The due time, which has passed without a consumer.
    Parked(u64),
    /// The time of death.
    Dead(u64),
}

/// A finished task in the deduplication window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Done {
    /// The time it expires, in Unix milliseconds.
    pub until: u64,
    /// Number of rounds, over all revisions.
    pub attempt: u32,
    /// The digest of the content.
    pub digest: Digest,
}
