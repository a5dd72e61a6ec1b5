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
