//! The replies of the server.

use std::sync::Arc;

use super::{
    AuditRow, DeadTask, DueCounts, JobRow, ReasonRow, Refusal, Stats, TaskView, Version,
    json_writer::JsonWriter, payload,
};

/// The name and the version of the server in the reply to `hello`.
const SERVER: &str = concat!("hyper-delay ", env!("CARGO_PKG_VERSION"));

/// A reply to a request, or the notice that a route was taken.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Reply {
    /// The answer to `hello`.
    Hello {
        /// The version of the protocol from this reply on.
        version: Version,
        /// Whether the connection refuses fields that a request does not have.
        strict: bool,
    },
    /// The token of an `auth` is right, or no tokens are configured.
    Authenticated {
        /// The name of the token. `None` without tokens.
        name: Option<Arc<str>>,
    },
    /// The route is bound to this connection.
    Registered {
        /// The route.
        route: Arc<str>,
        /// The credit of the connection from now on.
        credit: u16,
    },
    /// The route is no longer bound to this connection.
    Unregistered {
        /// The route.
        route: Arc<str>,
        /// The cause.
        reason: Reason,
    },
    /// A scheduled task is on disk. The reply to `schedule`: kind `ack`, or `scheduled` from
    /// protocol 2 on.
    Scheduled {
        /// Its id.
        id: Arc<str>,
        /// Its route.
        route: Arc<str>,
        /// The time it is due in Unix milliseconds.
        fire_at: u64,
    },
    /// The ack of a delivery is on disk, or there was no such delivery.
    Acked {
        /// The id of the task.
        id: Arc<str>,
        /// Its route. `None` if the ack named none and there is no such delivery.
        route: Option<Arc<str>>,
        /// Whether the ack removed the task.
        removed: bool,
    },
    /// The time to answer a delivery is extended, or there was no such delivery.
    Touched {
        /// The id of the task.
        id: Arc<str>,
        /// Its route. `None` if the request named none and there is no such delivery.
        route: Option<Arc<str>>,
        /// The number of the round. `None` if the request named none and there is no such delivery.
        attempt: Option<u32>,
        /// When the time is over in Unix milliseconds. `None` if there is no such delivery.
        deadline: Option<u64>,
    },
    /// A cancellation is on disk.
    Cancelled {
        /// The id of the task.
        id: Arc<str>,
        /// Its route.
        route: Arc<str>,
        /// Whether the task existed.
        found: bool,
        /// Whether an open connection was given the current revision and has not given it back.
        in_flight: bool,
    },
    /// The reply to a ping.
    Pong,
    /// Counts by state and route.
    Stats(Box<Stats>),
    /// Dead letters.
    Dead {
        /// Their route.
        route: Arc<str>,
        /// Oldest first.
        tasks: Vec<DeadTask>,
        /// Whether there are more after these.
        more: bool,
        /// The id of the last dead letter that was looked at, if the filter left it out.
        next: Option<Arc<str>>,
    },
    /// One task.
    Task {
        /// Its route.
        route: Arc<str>,
        /// Its id.
        id: Arc<str>,
        /// The task. `None` if there is no task of this name.
        task: Option<Box<TaskView>>,
    },
    /// Tasks in order of time.
    List {
        /// The tasks.
        tasks: Vec<TaskView>,
        /// The cursor of what follows. `None` if nothing does.
        next: Option<Arc<str>>,
    },
    /// The number of waiting tasks by due time.
    Future(Box<DueCounts>),
    /// A piece of a backup.
    Backup {
        /// The position of its first byte.
        offset: u64,
        /// The bytes. None only at the end.
        #[serde(with = "super::node_encoding::bytes")]
        data: Box<[u8]>,
        /// Whether there are more after these.
        more: bool,
    },
    /// A dead task is due now.
    Kicked {
        /// The id of the task.
        id: Arc<str>,
        /// Its route.
        route: Arc<str>,
        /// Whether it was dead.
        found: bool,
    },
    /// A dead task is removed.
    Deleted {
        /// The id of the task.
        id: Arc<str>,
        /// Its route.
        route: Arc<str>,
        /// Whether it was dead.
        found: bool,
    },
    /// The number of tasks that a bulk operation would change.
    Count {
        /// Their route.
        route: Arc<str>,
        /// Their number.
        tasks: u64,
        /// Whether there can be more: the counting ended early.
        more: bool,
    },
    /// A bulk operation has begun.
    Job(Box<JobRow>),
    /// The bulk operations, the newest first.
    Jobs(Vec<JobRow>),
    /// A bulk operation has ended.
    Stopped {
        /// Its number.
        job: u64,
        /// Whether the request has ended it. False if it was not running.
        found: bool,
    },
    /// The route is paused: none of its tasks are delivered.
    Paused {
        /// The route.
        route: Arc<str>,
        /// Whether it was not paused before.
        changed: bool,
    },
    /// The route is not paused any more.
    Resumed {
        /// The route.
        route: Arc<str>,
        /// Whether it was paused before.
        changed: bool,
    },
    /// The audit of operators, the newest line first.
    Audit {
        /// The lines.
        lines: Vec<AuditRow>,
        /// Whether there are older ones.
        more: bool,
    },
    /// Dead letters by reason.
    Reasons {
        /// The numbers.
        reasons: Vec<ReasonRow>,
        /// The cursor of what follows. `None` if nothing does.
        next: Option<Arc<str>>,
    },
    /// The request is refused.
    Error(Refusal),
    /// The move of a task is on disk, or has changed nothing.
    Moved {
        /// The id of the task.
        id: Arc<str>,
        /// Its route.
        route: Arc<str>,
        /// Whether the task exists.
        found: bool,
        /// When it is due now, in Unix milliseconds. `None` if it was not moved: it is in flight, or
        /// does not exist.
        due: Option<u64>,
    },
}

/// The reason why a route is no longer bound to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Reason {
    /// The connection sent `unregister`.
    Asked,
    /// Another connection took the route.
    Replaced,
}

impl Reason {
    /// The reason on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Replaced => "replaced",
        }
    }
}

impl Reply {
    /// Appends the line in protocol 1 and its `\n`. An error without `tag` carries its own tag. See
    /// [`Encoder`](super::Encoder) for other versions.
    pub fn encode(&self, tag: Option<&str>, out: &mut Vec<u8>) {
        self.write(Version::V1, tag, out);
    }

    /// Appends the line in protocol `version` and its `\n`.
    pub(super) fn write(&self, version: Version, tag: Option<&str>, out: &mut Vec<u8>) {
        let object = self.fields(JsonWriter::line(self.kind(version), out));
        let tag = match self {
            Self::Error(refusal) => tag.or(refusal.tag.as_deref()),
            _ => tag,
        };
        object.optional("tag", tag).close();
        out.push(b'\n');
    }

    const fn kind(&self, version: Version) -> &'static str {
        match self {
            Self::Hello { .. } => "hello",
            Self::Authenticated { .. } => "authenticated",
            Self::Registered { .. } => "registered",
            Self::Unregistered { .. } => "unregistered",
            Self::Scheduled { .. } => match version {
                Version::V1 => "ack",
                Version::V2 => "scheduled",
            },
            Self::Acked { .. } => "acked",
            Self::Touched { .. } => "touched",
            Self::Cancelled { .. } => "cancelled",
            Self::Pong => "pong",
            Self::Stats(_) => "stats",
            Self::Dead { .. } => "dead",
            Self::Task { .. } => "task",
            Self::List { .. } => "list",
            Self::Future(_) => "future",
            Self::Backup { .. } => "backup",
            Self::Kicked { .. } => "kicked",
            Self::Deleted { .. } => "deleted",
            Self::Count { .. } => "count",
            Self::Job(_) => "job",
            Self::Jobs(_) => "jobs",
            Self::Stopped { .. } => "stopped",
            Self::Paused { .. } => "paused",
            Self::Resumed { .. } => "resumed",
            Self::Audit { .. } => "audit",
            Self::Reasons { .. } => "reasons",
            Self::Error(_) => "error",
            Self::Moved { .. } => "moved",
        }
    }

    fn fields<'a>(&self, object: JsonWriter<'a, Vec<u8>>) -> JsonWriter<'a, Vec<u8>> {
        let named = |object: JsonWriter<'a, _>, id: &str, route: &str| {
            object.field("id", id).field("route_key", route)
        };
        match self {
            Self::Hello { version, strict } => object
                .field("protocol", &version.number())
                .field("server", SERVER)
                .optional("strict", strict.then_some(true)),
            Self::Authenticated { name } => object.optional("name", name.as_deref()),
            Self::Registered { route, credit } => {
                object.field("route_key", &**route).field("credit", credit)
            }
            Self::Unregistered { route, reason } => object
                .field("route_key", &**route)
                .field("reason", reason.as_str()),
            Self::Scheduled { id, route, fire_at } => {
                named(object, id, route).field("fire_at", fire_at)
            }
            Self::Acked { id, route, removed } => object
                .field("id", &**id)
                .optional("route_key", route.as_deref())
                .field("removed", removed),
            Self::Touched {
                id,
                route,
                attempt,
                deadline,
            } => object
                .field("id", &**id)
                .optional("route_key", route.as_deref())
                .optional("attempt", *attempt)
                .field("found", &deadline.is_some())
                .optional("deadline", *deadline),
            Self::Cancelled {
                id,
                route,
                found,
                in_flight,
            } => named(object, id, route)
                .field("found", found)
                .field("in_flight", in_flight),
            Self::Pong => object,
            Self::Stats(stats) => stats.fields(object),
            Self::Dead {
                route,
                tasks,
                more,
                next,
            } => object
                .field("route_key", &**route)
                .list("tasks", tasks, DeadTask::write)
                .field("more", more)
                .optional("next", next.as_deref()),
            Self::Task { route, id, task } => match task {
                Some(task) => task.fields(object).field("found", &true),
                None => named(object, id, route).field("found", &false),
            },
            Self::List { tasks, next } => object
                .list("tasks", tasks, |task, object| task.fields(object).close())
                .field("more", &next.is_some())
                .optional("next", next.as_deref()),
            Self::Future(future) => future.fields(object),
            Self::Backup { offset, data, more } => object
                .field("offset", offset)
                .quoted("data_base64", |out| payload::encode(data, out))
                .field("more", more),
            Self::Kicked { id, route, found } => named(object, id, route).field("found", found),
            Self::Deleted { id, route, found } => named(object, id, route).field("found", found),
            Self::Count { route, tasks, more } => object
                .field("route_key", &**route)
                .field("tasks", tasks)
                .field("more", more),
            Self::Job(job) => job.fields(object),
            Self::Jobs(jobs) => object.list("jobs", jobs, |job, object| job.fields(object).close()),
            Self::Stopped { job, found } => object.field("job", job).field("found", found),
            Self::Paused { route, changed } | Self::Resumed { route, changed } => object
                .field("route_key", &**route)
                .field("changed", changed),
            Self::Audit { lines, more } => object
                .list("lines", lines, AuditRow::write)
                .field("more", more),
            Self::Reasons { reasons, next } => object
                .list("reasons", reasons, ReasonRow::write)
                .field("more", &next.is_some())
                .optional("next", next.as_deref()),
            Self::Error(refusal) => object
                .field("code", refusal.code.as_str())
                .field("message", &refusal.message)
                .optional("id", refusal.id.as_deref())
                .optional("route_key", refusal.route.as_deref())
                .optional("line", refusal.line),
            Self::Moved {
                id,
                route,
                found,
                due,
            } => named(object, id, route)
                .field("found", found)
                .field("moved", &due.is_some())
                .optional("due", *due),
        }
    }
}

#[cfg(test)]
mod tests;
