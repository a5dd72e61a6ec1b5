use std::sync::Arc;

use super::{AuditedOp, BulkAdvance, MovedTask, NewBulkJob, Sweep, TaskMove, Unmoved};
use hyper_delay_protocol::{
    Compression, Delivery, Headers, LastFailure, Schedule, Terms, access::Grant,
};
use hyper_delay_store::record::Task;

/// An operation on a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Creates a task or a new revision of one.
    Schedule(ScheduleOrder),
    /// Removes a task that is done and keeps its name in the deduplication window.
    Finish(TaskRevision),
    /// Makes a task due at `at`, after a failed round.
    Retry {
        /// The revision.
        revision: TaskRevision,
        /// The next due time in Unix milliseconds.
        at: u64,
        /// Number of rounds so far.
        attempt: u32,
        /// Number of failed rounds so far.
        failures: u32,
        /// How the round has failed. `None` if it was no failure: the last one stays.
        failure: Option<Box<LastFailure>>,
    },
    /// Parks a due task that no consumer can take. The number of its round is stored, too.
    Park(TaskRevision),
    /// Makes a task a dead letter: its last round failed, or its content cannot be read.
    Bury {
        /// The revision.
        revision: TaskRevision,
        /// The time of death in Unix milliseconds.
        at: u64,
        /// Number of rounds so far.
        attempt: u32,
        /// Number of failed rounds so far.
        failures: u32,
        /// The reason why the content cannot be read, or that of the nack that ended the last
        /// round.
        reason: Option<Arc<str>>,
        /// How the last round has failed.
        failure: Option<Box<LastFailure>>,
    },
    /// Removes a task whose time has passed, in any state.
    Expire {
        /// The revision.
        revision: TaskRevision,
        /// When it expired, in Unix milliseconds.
        at: u64,
    },
    /// Raises the stored number of rounds of a task to `attempt` if it is lower.
    Count {
        /// The revision.
        revision: TaskRevision,
        /// Number of rounds so far.
        attempt: u32,
    },
    /// Removes a task in any state and revision.
    Cancel {
        /// The route of the task.
        route: Arc<str>,
        /// The id of the task.
        id: Arc<str>,
    },
    /// Moves the due time of a waiting or parked task, and nothing else.
    Move(TaskMove),
    /// Makes a dead letter due at `at`.
    Kick {
        /// The route of the task.
        route: Arc<str>,
        /// The id of the task.
        id: Arc<str>,
        /// The due time in Unix milliseconds.
        at: u64,
    },
    /// Removes a dead letter.
    Delete {
        /// The route of the task.
        route: Arc<str>,
        /// The id of the task.
        id: Arc<str>,
    },
    /// Pauses a route: none of its tasks are delivered.
    Pause(Arc<str>),
    /// Resumes a paused route.
    Resume(Arc<str>),
    /// Begins a bulk operation.
    BeginBulk(Box<NewBulkJob>),
    /// Changes one of many tasks.
    Sweep(Sweep),
    /// Notes how far a bulk operation has come.
    AdvanceBulk(Box<BulkAdvance>),
    /// An operation of an operator.
    Audited(Box<AuditedOp>),
    /// Raises the low-water mark to this time in Unix milliseconds. After the operations before
    /// this one, no task may be waiting for an earlier time.
    AdvanceLowWater(u64),
    /// Compares a page of the index of retrying tasks with their names, and removes the rows that a
    /// server of an older version has left.
    CheckRetrying {
        /// The last key of the page before. Empty at the start.
        after: Box<[u8]>,
    },
}

/// A revision of a task.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TaskRevision {
    /// The route of the task.
    pub route: Arc<str>,
    /// The id of the task.
    pub id: Arc<str>,
    /// The sequence number of the revision.
    pub seq: u64,
    /// The round that led to the operation. The stored number of rounds can be lower.
    pub attempt: u32,
}

/// A task to schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleOrder {
    /// The route of the task.
    pub route: Arc<str>,
    /// The id of the task.
    pub id: Arc<str>,
    /// Whether the client chose the id. An id that the server made is unique and not looked up.
    pub named: bool,
    /// The due time in Unix milliseconds: `fire_at`, or the current time if that is later.
    pub at: u64,
    /// The scheduled time in Unix milliseconds.
    pub fire_at: u64,
    /// The delay in milliseconds that gave the scheduled time, if it was one.
    pub delay_ms: Option<u64>,
    /// The label of the payload.
    pub compression: Compression,
    /// The payload, which the server does not interpret.
    pub payload: Box<[u8]>,
    /// Whether to replace a task that has the same name and other content.
    pub replace: bool,
    /// What its deliveries carry beside the payload.
    pub headers: Headers,
    /// What applies to the task instead of the settings.
    pub terms: Option<Box<Terms>>,
}

/// The most pending tasks that a route may have. `None`: no limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PendingLimits {
    /// Their number.
    pub tasks: Option<u64>,
    /// Bytes of their payloads.
    pub bytes: Option<u64>,
    /// The token whose quotas apply to the sums over its routes.
    pub token: Option<Arc<Grant>>,
}

impl ScheduleOrder {
    /// Returns the order of a schedule that arrives at `now`, in Unix milliseconds. `route` and
    /// `id` are those of the schedule, or what stands for them; `named` if the client chose the id.
    #[inline]
    #[must_use]
    pub fn of(
        schedule: Schedule,
        (route, id): (Arc<str>, Arc<str>),
        named: bool,
        now: u64,
    ) -> Self {
        let fire_at = schedule.due.at(now);
        Self {
            route,
            id,
            named,
            at: fire_at.max(now),
            fire_at,
            delay_ms: schedule.due.delay_ms(),
            compression: schedule.compression,
            payload: schedule.payload,
            replace: schedule.replace,
            headers: schedule.headers,
            terms: schedule.terms,
        }
    }

    /// Returns the longest of its deliveries.
    #[must_use]
    pub fn longest_delivery(&self) -> Delivery<'_> {
        Delivery {
            // It is left out if the line has no room for it.
            due: None,
            id: &self.id,
            route: &self.route,
            fire_at: self.fire_at,
            compression: self.compression,
            payload: &self.payload,
            attempt: u32::MAX,
            headers: self.headers.text(),
        }
    }

    /// Returns the content of the revision that the order makes.
    pub(super) fn content(&self) -> Task<'_> {
        Task {
            fire_at: self.fire_at,
            compression: self.compression,
            payload: &self.payload,
            terms: self.terms.clone(),
            headers: self.headers.text(),
            delay_ms: self.delay_ms,
        }
    }

    /// Returns whether it expires before its delay is over. A request with a time is not parsed if
    /// it does.
    pub(super) fn expires_before_due(&self) -> bool {
        let expires_at = self.terms.as_ref().and_then(|terms| terms.expires_at);
        self.delay_ms.is_some() && expires_at.is_some_and(|at| at <= self.fire_at)
    }

    /// Returns about how many bytes its content and its terms take, without its names.
    #[must_use]
    pub fn content_bytes(&self) -> usize {
        /// The terms in the content, the name and the entry, and the row of the index of expiry.
        const TERMS: usize = 256;
        let terms = if self.terms.is_some() { TERMS } else { 0 };
        self.payload.len() + self.headers.text().len() + terms
    }
}

/// The effect of an operation once its batch is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A new revision is stored.
    Scheduled {
        /// Its sequence number.
        seq: u64,
        /// Number of rounds of the revisions before it.
        attempt: u32,
        /// The sequence number of the revision that it replaced.
        replaced: Option<u64>,
    },
    /// A task with this name and content is stored or was finished recently. Nothing has changed.
    Same {
        /// Its scheduled time in Unix milliseconds. After a delay whose task is finished, the time
        /// of this request: the first one is not stored.
        fire_at: u64,
    },
    /// The name belongs to a task with other content. Nothing has changed.
    NameTaken,
    /// It would expire before its delay is over. Nothing has changed.
    ExpiresBeforeDue,
    /// The disk has no room for a new task. Nothing has changed.
    DiskFull,
    /// The route has as many pending tasks as it may. Nothing has changed.
    OverQuota,
    /// The payloads of the pending tasks of the route would be longer than they may. Nothing has
    /// changed.
    OverBytes,
    /// The routes of the token have this many pending tasks, as many as they may. Nothing has
    /// changed.
    OverTokenQuota(u64),
    /// The payloads of the pending tasks on the routes of the token would have more bytes than
    /// this. Nothing has changed.
    OverTokenBytes(u64),
    /// Whether the operation was applied: false if the revision is not the current one.
    Applied(bool),
    /// The sequence number of the removed revision, if the task existed.
    Cancelled(Option<u64>),
    /// The task after its move.
    Moved(MovedTask),
    /// Why the task was not moved. Nothing has changed.
    NotMoved(Unmoved),
    /// The task, if it was a dead letter.
    Kicked(Option<KickedTask>),
    /// The number of the bulk operation.
    BulkBegun(u64),
    /// The last key of the page, if there may be more after it.
    RetryingChecked(Option<Box<[u8]>>),
}

/// A dead letter that is due again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KickedTask {
    /// Its sequence number.
    pub seq: u64,
    /// Number of its rounds so far.
    pub attempt: u32,
    /// What applies to the task instead of the settings.
    pub terms: Option<Box<Terms>>,
}
