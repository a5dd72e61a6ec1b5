//! What the server answers.

use std::sync::Arc;

use super::{Refusal, Stats, object::Object};

/// The answer to a request, or news about one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The route is bound to this connection.
    Registered {
        /// The route.
        route: Arc<str>,
        /// The credit of the connection that is now in force.
        credit: u16,
    },
    /// The route is no longer bound to this connection.
    Unregistered {
        /// The route.
        route: Arc<str>,
        /// Who wanted it.
        reason: Reason,
    },
    /// The task is on disk.
    Ack {
        /// Its id.
        id: Arc<str>,
        /// Its route.
        route: Arc<str>,
        /// When it is due, in Unix milliseconds.
        fire_at: u64,
    },
    /// The ack of a delivery is on disk, or was not of one.
    Acked {
        /// The id of the task.
        id: Arc<str>,
        /// Its route; absent if the ack named none and there is no such delivery.
        route: Option<Arc<str>>,
        /// Whether the task is removed.
        removed: bool,
    },
    /// A cancellation is on disk.
    Cancelled {
        /// The id of the task.
        id: Arc<str>,
        /// Its route.
        route: Arc<str>,
        /// Whether there was such a task.
        found: bool,
        /// Whether a consumer has it at this moment.
        in_flight: bool,
    },
    /// A sign of life.
    Pong,
    /// Counts by state and route.
    Stats(Box<Stats>),
    /// Dead letters.
    Dead {
        /// Their route.
        route: Arc<str>,
        /// Oldest first.
        tasks: Vec<DeadTask>,
        /// Whether there are others after them.
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
    /// The request is refused.
    Error(Refusal),
}

/// Why a route is no longer bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// This connection asked for it.
    Asked,
    /// Another connection took it.
    Replaced,
}

impl Reason {
    /// The reason as it is on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Replaced => "replaced",
        }
    }
}

/// One dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadTask {
    /// The id of the task.
    pub id: Arc<str>,
    /// When it was due, in Unix milliseconds, as it was scheduled.
    pub fire_at: u64,
    /// The number of its last round.
    pub attempt: u32,
    /// When it died, in Unix milliseconds.
    pub died_at: u64,
}

impl Reply {
    /// Appends the line and its `\n`. An error without `tag` carries its own.
    pub fn encode(&self, tag: Option<&str>, out: &mut Vec<u8>) {
        let object = self.fields(Object::line(self.kind(), out));
        let tag = match self {
            Self::Error(refusal) => tag.or(refusal.tag.as_deref()),
            _ => tag,
        };
        object.maybe("tag", tag).close();
        out.push(b'\n');
    }

    const fn kind(&self) -> &'static str {
        match self {
            Self::Registered { .. } => "registered",
            Self::Unregistered { .. } => "unregistered",
            Self::Ack { .. } => "ack",
            Self::Acked { .. } => "acked",
            Self::Cancelled { .. } => "cancelled",
            Self::Pong => "pong",
            Self::Stats(_) => "stats",
            Self::Dead { .. } => "dead",
            Self::Kicked { .. } => "kicked",
            Self::Error(_) => "error",
        }
    }

    fn fields<'a>(&self, object: Object<'a, Vec<u8>>) -> Object<'a, Vec<u8>> {
        let named = |object: Object<'a, _>, id: &str, route: &str| {
            object.field("id", id).field("route_key", route)
        };
        match self {
            Self::Registered { route, credit } => {
                object.field("route_key", &**route).field("credit", credit)
            }
            Self::Unregistered { route, reason } => object
                .field("route_key", &**route)
                .field("reason", reason.as_str()),
            Self::Ack { id, route, fire_at } => named(object, id, route).field("fire_at", fire_at),
            Self::Acked { id, route, removed } => object
                .field("id", &**id)
                .maybe("route_key", route.as_deref())
                .field("removed", removed),
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
            Self::Dead { route, tasks, more } => object
                .field("route_key", &**route)
                .list("tasks", tasks, |task, object| {
                    object
                        .field("id", &*task.id)
                        .field("fire_at", &task.fire_at)
                        .field("attempt", &task.attempt)
                        .field("died_at", &task.died_at)
                        .close();
                })
                .field("more", more),
            Self::Kicked { id, route, found } => named(object, id, route).field("found", found),
            Self::Error(refusal) => object
                .field("code", refusal.code.as_str())
                .field("message", &refusal.message)
                .maybe("id", refusal.id.as_deref())
                .maybe("route_key", refusal.route.as_deref()),
        }
    }
}

#[cfg(test)]
mod tests;
