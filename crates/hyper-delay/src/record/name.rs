use serde::{Deserialize, Serialize};

use super::Digest;

/// What is known of a task by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    /// The revision: each has a sequence number of its own.
    pub seq: u64,
    /// When it was scheduled for, Unix milliseconds.
    pub fire_at: u64,
    /// Where its entry is.
    pub place: Place,
    /// Rounds so far, over all revisions.
    pub attempt: u32,
    /// Rounds that failed since it was scheduled, replaced or kicked.
    pub failures: u32,
    /// Of the content.
    pub digest: Digest,
}

/// Which space has the entry of a task, and at which time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Place {
    /// It is due then (Unix milliseconds).
    Waiting(u64),
    /// It was due then, and nobody could take it.
    Parked(u64),
    /// It died then.
    Dead(u64),
}

/// What is remembered of a task that is done, so that it is not done again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// Unix milliseconds until which it counts.
    pub until: u64,
    /// Rounds it took.
    pub attempt: u32,
    /// Of the content.
    pub digest: Digest,
}
