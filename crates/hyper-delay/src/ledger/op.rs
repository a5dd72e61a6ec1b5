use std::sync::Arc;

use crate::protocol::Compression;

/// What is to happen to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// A new task, or a new revision of one.
    Schedule(Order),
    /// It is done: it goes, and its name is remembered.
    Finish(Subject),
    /// A round has failed; the next is due at `at`.
    Retry {
        /// Which task.
        subject: Subject,
        /// Unix milliseconds.
        at: u64,
        /// Rounds so far.
        attempt: u32,
        /// Failures so far.
        failures: u32,
    },
    /// It is due, and nobody can take it.
    Park(Subject),
    /// Its last round has failed, or its content cannot be read.
    Bury {
        /// Which task.
        subject: Subject,
        /// Unix milliseconds.
        at: u64,
        /// Rounds so far.
        attempt: u32,
        /// Failures so far.
        failures: u32,
        /// Why it is dead, if not by failed rounds.
        reason: Option<Arc<str>>,
    },
    /// It has had at least so many rounds.
    Count {
        /// Which task.
        subject: Subject,
        /// Rounds so far.
        attempt: u32,
    },
    /// It goes, whatever its revision and state.
    Cancel {
        /// Its route.
        route: Arc<str>,
        /// Its id.
        id: Arc<str>,
    },
    /// If it is dead, it is due at `at`.
    Kick {
        /// Its route.
        route: Arc<str>,
        /// Its id.
        id: Arc<str>,
        /// Unix milliseconds.
        at: u64,
    },
    /// All that waited before this time (Unix milliseconds) has left, as far as operations before this one go.
    NothingBefore(u64),
}

/// One revision of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Its route.
    pub route: Arc<str>,
    /// Its id.
    pub id: Arc<str>,
    /// Its revision.
    pub seq: u64,
    /// The round in which this happened to it; what the ledger has may be behind.
    pub attempt: u32,
}

/// A task to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Its route.
    pub route: Arc<str>,
    /// Its id.
    pub id: Arc<str>,
    /// Whether a client chose the id; one that the server made is new, and need not be looked up.
    pub named: bool,
    /// When it is due, Unix milliseconds: `fire_at`, or now if that has passed.
    pub at: u64,
    /// When it was scheduled for, Unix milliseconds.
    pub fire_at: u64,
    /// The label of the payload.
    pub compression: Compression,
    /// Opaque.
    pub payload: Box<[u8]>,
    /// Whether it may take the place of another content.
    pub replace: bool,
}

/// What has happened, once the batch is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// There is a new revision.
    Scheduled {
        /// Its sequence number.
        seq: u64,
        /// Rounds of revisions before it.
        attempt: u32,
        /// The revision that it took the place of.
        replaced: Option<u64>,
    },
    /// The very same was there, or is done.
    Same,
    /// The name is taken by another content.
    Taken,
    /// The disk has no room for a new task. Nothing has changed.
    DiskFull,
    /// Whether the revision was there.
    Moved(bool),
    /// The revision that is gone, if there was one.
    Cancelled(Option<u64>),
    /// The revision that lives again and its rounds, if it was dead.
    Kicked(Option<(u64, u32)>),
}
