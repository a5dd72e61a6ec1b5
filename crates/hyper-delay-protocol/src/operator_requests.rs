//! Requests and replies of operators: bulk operations, dead letters by reason, and the audit.

use std::{io, sync::Arc};

use super::{
    BulkMove, FailureKind, Filter,
    field::{EXACT, FieldError},
    json_writer::{self, JsonWriter},
    request_fields::RequestFields,
};

/// The change that a bulk operation makes to every task that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum BulkAct {
    /// Makes dead letters due now.
    Kick,
    /// Removes dead letters.
    Delete,
    /// Removes waiting, parked and dead tasks.
    Purge,
    /// Moves the due times of waiting and parked tasks.
    Move(BulkMove),
}

impl BulkAct {
    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kick => "kick_all",
            Self::Delete => "delete_all",
            Self::Purge => "purge",
            Self::Move(moved) => moved.as_str(),
        }
    }

    /// Returns the move, if it is one.
    #[must_use]
    pub const fn task_move(self) -> Option<BulkMove> {
        match self {
            Self::Move(moved) => Some(moved),
            Self::Kick | Self::Delete | Self::Purge => None,
        }
    }
}

/// A bulk operation that is requested, or whose tasks are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkRequest {
    /// The change to each task.
    pub act: BulkAct,
    /// The route of the tasks.
    pub route: Arc<str>,
    /// Only these. A purge has none.
    pub filter: Filter,
    /// Whether a purge removes tasks in flight, too.
    pub in_flight: bool,
}

impl BulkRequest {
    pub(super) fn read(
        act: BulkAct,
        route: Arc<str>,
        fields: &RequestFields<'_>,
    ) -> Result<Self, FieldError> {
        let is_purge = act == BulkAct::Purge;
        Ok(Self {
            act,
            route,
            filter: match is_purge {
                true => Filter::default(),
                false => Filter::read(fields)?,
            },
            in_flight: is_purge && fields.in_flight().flag()?,
        })
    }
}

/// Reads the number of a bulk operation.
pub(super) fn job(fields: &RequestFields<'_>) -> Result<u64, FieldError> {
    let what = "the number of a job";
    let job = fields.job().number(what, 1..=EXACT)?;
    fields.job().required(job, what)
}

/// One of a few words. A name of its own, as `serde` would borrow a reference from what it decodes.
type StaticWord = &'static str;

/// A bulk operation.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct JobRow {
    /// Its number.
    pub job: u64,
    /// The kind of its request.
    #[serde(with = "super::node_encoding::job_word")]
    pub act: StaticWord,
    /// The route of the tasks.
    pub route: Arc<str>,
    /// `running`, `done`, `stopped` or `failed`.
    #[serde(with = "super::node_encoding::job_word")]
    pub state: StaticWord,
    /// Number of tasks that were kicked, removed or moved so far.
    pub changed: u64,
    /// The filter that selects its tasks.
    pub filter: Filter,
    /// The state and the new due times of its tasks, if it moves them.
    pub task_move: Option<BulkMove>,
    /// When it was begun, in Unix milliseconds.
    pub began_at: u64,
    /// When it ended, in Unix milliseconds. `None` while it runs.
    pub ended_at: Option<u64>,
    /// The name of the token that began it.
    pub by: Option<Arc<str>>,
    /// The address that it was begun from.
    pub address: Option<Arc<str>>,
}

impl JobRow {
    /// The length of its object in a line, in bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        json_writer::nested_length(|object| self.fields(object).close())
    }

    pub(super) fn fields<'a, W: io::Write>(&self, object: JsonWriter<'a, W>) -> JsonWriter<'a, W> {
        let object = object
            .field("job", &self.job)
            .field("act", self.act)
            .field("route_key", &*self.route)
            .field("state", self.state)
            .field("changed", &self.changed)
            .optional("reason", self.filter.reason.as_deref())
            .optional("from", self.filter.from)
            .optional("until", self.filter.until);
        BulkMove::fields(self.task_move, object)
            .field("began_at", &self.began_at)
            .optional("ended_at", self.ended_at)
            .optional("by", self.by.as_deref())
            .optional("address", self.address.as_deref())
    }
}

/// A line of the audit.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct AuditRow {
    /// Its number, counted from 1.
    pub number: u64,
    /// When it was done, in Unix milliseconds.
    pub at: u64,
    /// The action: the kind of the request, or the end of a bulk operation.
    pub act: Arc<str>,
    /// The route.
    pub route: Arc<str>,
    /// The task, if it was one.
    pub id: Option<Arc<str>>,
    /// The bulk operation, if it is about one.
    pub job: Option<u64>,
    /// Number of tasks that the bulk operation changed, at its end.
    pub tasks: Option<u64>,
    /// The filter of the bulk operation.
    pub filter: Filter,
    /// The state and the new due times of the tasks, if the bulk operation moves them.
    pub task_move: Option<BulkMove>,
    /// Whether the bulk operation removes tasks in flight, too.
    pub in_flight: bool,
    /// The name of the token.
    pub by: Option<Arc<str>>,
    /// The address of the connection.
    pub address: Option<Arc<str>>,
}

impl AuditRow {
    /// The length of its object in a line, in bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        json_writer::nested_length(|object| self.write(object))
    }

    pub(super) fn write<W: io::Write>(&self, object: JsonWriter<'_, W>) {
        let object = object
            .field("number", &self.number)
            .field("at", &self.at)
            .field("act", &*self.act)
            .field("route_key", &*self.route)
            .optional("id", self.id.as_deref())
            .optional("job", self.job)
            .optional("tasks", self.tasks)
            .optional("reason", self.filter.reason.as_deref())
            .optional("from", self.filter.from)
            .optional("until", self.filter.until);
        BulkMove::fields(self.task_move, object)
            .optional("in_flight", self.in_flight.then_some(true))
            .optional("by", self.by.as_deref())
            .optional("address", self.address.as_deref())
            .close();
    }
}

/// The number of dead letters, or of retrying tasks, with the same reason.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ReasonRow {
    /// Their route.
    pub route: Arc<str>,
    /// Their reason; empty if they have none.
    pub reason: Arc<str>,
    /// How the last round of retrying tasks has failed. `None`: they are dead letters.
    pub failure: Option<FailureKind>,
    /// Their number.
    pub tasks: u64,
}

impl ReasonRow {
    /// The length of its object in a line, in bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        json_writer::nested_length(|object| self.write(object))
    }

    pub(super) fn write<W: io::Write>(&self, object: JsonWriter<'_, W>) {
        object
            .field("route_key", &*self.route)
            .field("reason", &*self.reason)
            .optional("failure", self.failure.map(FailureKind::as_str))
            .field("tasks", &self.tasks)
            .close();
    }
}
