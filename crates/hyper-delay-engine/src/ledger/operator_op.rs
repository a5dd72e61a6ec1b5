use std::{net::SocketAddr, sync::Arc};

use super::{NewDueTime, Op};
use hyper_delay_protocol::{BulkAct, BulkMoveTo, Filter};
use hyper_delay_store::record::{BulkJob, JobState, Place};

/// The operator who requested an operation.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Actor {
    /// The name of the token, if the connection has one.
    pub by: Option<Arc<str>>,
    /// The address of the connection.
    pub address: Option<SocketAddr>,
}

impl Actor {
    /// Returns both as they are stored.
    pub(super) fn to_stored(&self) -> (Option<Box<str>>, Option<Box<str>>) {
        let address = self.address.map(|address| address.to_string().into());
        (self.by.as_deref().map(Box::from), address)
    }
}

/// An operation of an operator. If it changes anything, the same batch adds a line to the audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditedOp {
    /// The operation.
    pub op: Op,
    /// The operator who requested it.
    pub actor: Actor,
}

/// A bulk operation to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBulkJob {
    /// The change of each task.
    pub act: BulkAct,
    /// The route of the tasks.
    pub route: Arc<str>,
    /// Only these.
    pub filter: Filter,
    /// Whether tasks in flight are removed, too.
    pub in_flight: bool,
    /// The time in Unix milliseconds.
    pub at: u64,
    /// The operator who requested it.
    pub actor: Actor,
}

impl NewBulkJob {
    /// Returns it as it is stored when it begins.
    #[must_use]
    pub(crate) fn to_stored_job(&self) -> BulkJob {
        let (by, address) = self.actor.to_stored();
        BulkJob {
            act: self.act.into(),
            route: (&*self.route).into(),
            reason: self.filter.reason.as_deref().map(Box::from),
            from: self.filter.from,
            until: self.filter.until,
            in_flight: self.in_flight,
            began_at: self.at,
            by,
            address,
            state: JobState::Running,
            ended_at: 0,
            changed: 0,
            cursor: Box::default(),
            task_move: self.act.task_move().unwrap_or_default(),
        }
    }
}

/// One of many tasks that are changed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep {
    /// The bulk operation. `None`: the server removes a dead letter because of its age.
    pub job: Option<u64>,
    /// The route of the task.
    pub route: Arc<str>,
    /// The id of the task.
    pub id: Arc<str>,
    /// The sequence number of the revision. Other revisions stay.
    pub seq: u64,
    /// The change.
    pub act: SweepAct,
}

/// The change of one of many tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweepAct {
    /// Makes it due at `at` if it is still a dead letter of that place.
    Kick {
        /// The place where it was read.
        place: Place,
        /// The due time in Unix milliseconds.
        at: u64,
    },
    /// Removes it if it is still a dead letter of that place.
    Delete {
        /// The place where it was read.
        place: Place,
    },
    /// Removes it in any state.
    Purge,
    /// Moves its due time if the bulk operation is for it.
    Move(SweepMove),
}

/// A move of one of many tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepMove {
    /// The new due time.
    pub to: BulkMoveTo,
    /// The time in Unix milliseconds.
    pub now: u64,
    /// The latest new due time in Unix milliseconds, if the move is relative.
    pub latest: u64,
}

impl SweepMove {
    /// Returns a time in Unix milliseconds before which the task is not due after a move, unless it
    /// was before.
    #[must_use]
    pub(crate) fn earliest(self) -> u64 {
        match self.to {
            BulkMoveTo::At(due) => due.max(self.now),
            BulkMoveTo::Now | BulkMoveTo::Later(_) => self.now,
        }
    }

    /// Returns the new due time of a task that is due at `due`. `None`: it stays.
    pub(super) fn due_after(self, due: u64) -> Option<NewDueTime> {
        let Self { to, now, latest } = self;
        match to {
            BulkMoveTo::At(due) if due > now => Some(NewDueTime::At(due)),
            BulkMoveTo::Now | BulkMoveTo::At(_) => Some(NewDueTime::NotAfter(now)),
            BulkMoveTo::Later(shift) => {
                let due = due.saturating_add(shift);
                (now < due && due <= latest).then_some(NewDueTime::At(due))
            }
        }
    }
}

/// A step of a bulk operation that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkAdvance {
    /// The bulk operation.
    pub job: u64,
    /// The key or the id after which it continues.
    pub cursor: Box<[u8]>,
    /// Whether it is running or how it ended.
    pub state: JobState,
    /// The time in Unix milliseconds.
    pub at: u64,
    /// The operator who stopped it.
    pub actor: Actor,
}
