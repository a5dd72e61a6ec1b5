use std::{net::SocketAddr, sync::Arc};

use super::Op;
use hyper_delay_protocol::Filter;
use hyper_delay_store::record::{BulkJob, JobAction, JobState, Place};

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
    pub act: JobAction,
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
            act: self.act,
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
