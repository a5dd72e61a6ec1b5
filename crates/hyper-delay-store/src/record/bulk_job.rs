use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Record;
use hyper_delay_protocol::{Filter, JobRow};

/// A bulk operation, stored under its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkJob {
    /// The action on each task.
    pub act: JobAction,
    /// The route of the tasks.
    pub route: Box<str>,
    /// Only dead letters with this reason; an empty one means those without a reason.
    pub reason: Option<Box<str>>,
    /// Only those from this time on, in Unix milliseconds.
    pub from: Option<u64>,
    /// Only those before this time, in Unix milliseconds.
    pub until: Option<u64>,
    /// Whether tasks in flight are removed, too.
    pub in_flight: bool,
    /// When it was begun, in Unix milliseconds.
    pub began_at: u64,
    /// The name of the token that began it.
    pub by: Option<Box<str>>,
    /// The address that it was begun from.
    pub address: Option<Box<str>>,
    /// Whether it is running or how it ended.
    pub state: JobState,
    /// When it ended, in Unix milliseconds; 0 while it runs.
    pub ended_at: u64,
    /// Number of tasks that were kicked or removed.
    pub changed: u64,
    /// The key or the id after which it continues. Empty at the start.
    pub cursor: Box<[u8]>,
}

impl Record<'_> for BulkJob {}

/// The action of a bulk operation. Append new variants and never move one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobAction {
    /// Makes dead letters due.
    Kick,
    /// Removes dead letters.
    Delete,
    /// Removes waiting, parked and dead tasks.
    Purge,
}

/// Whether a bulk operation is running or how it ended. Append new variants and never move one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobState {
    /// It is running. A restart continues it.
    Running,
    /// It has looked at all tasks.
    Done,
    /// An operator has ended it.
    Stopped,
    /// It has met tasks that cannot be read.
    Failed,
}

impl JobState {
    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
        }
    }
}

impl JobAction {
    /// Its name in requests and in the audit.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kick => "kick_all",
            Self::Delete => "delete_all",
            Self::Purge => "purge",
        }
    }
}

impl BulkJob {
    /// Returns the row that operators receive.
    #[must_use]
    pub fn row(&self, job: u64) -> JobRow {
        JobRow {
            job,
            act: self.act.as_str(),
            route: (&*self.route).into(),
            state: self.state.as_str(),
            changed: self.changed,
            filter: Filter {
                reason: self.reason.as_deref().map(Arc::from),
                from: self.from,
                until: self.until,
            },
            began_at: self.began_at,
            ended_at: Some(self.ended_at).filter(|at| *at > 0),
            by: self.by.as_deref().map(Arc::from),
            address: self.address.as_deref().map(Arc::from),
        }
    }
}
