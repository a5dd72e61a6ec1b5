//! The replies of the server.

use std::sync::Arc;

use super::{Refusal, Stats, Version, object::Object};

/// The name and the version of the server in the reply to `hello`.
const SERVER: &str = concat!("hyper-delay ", env!("CARGO_PKG_VERSION"));

/// A reply to a request, or the notice that a route was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The version of the protocol from this reply on.
    Hello(Version),
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

/// Why a route is no longer bound to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// A dead letter, or an orphaned task of any state.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeadTask {
    /// The id of the task.
    pub id: Arc<str>,
    /// The scheduled time in Unix milliseconds.
    pub fire_at: u64,
    /// The number of its last round; 0 if there was none.
    pub attempt: u32,
    /// The time it died in Unix milliseconds; 0 if it is not dead.
    pub died_at: u64,
    /// Why the content of the task cannot be read. `None` if it can.
    pub reason: Option<Arc<str>>,
    /// Whether the server made the task's route for a connection that is closed.
    pub orphaned: bool,
}

impl Reply {
    /// Appends the line in protocol 1 and its `\n`. An error without `tag` carries its own tag. See
    /// [`Encoder`](super::Encoder) for other versions.
    pub fn encode(&self, tag: Option<&str>, out: &mut Vec<u8>) {
        self.write(Version::V1, tag, out);
    }

    /// Appends the line in protocol `version` and its `\n`.
    pub(super) fn write(&self, version: Version, tag: Option<&str>, out: &mut Vec<u8>) {
        let object = self.fields(Object::line(self.kind(version), out));
        let tag = match self {
            Self::Error(refusal) => tag.or(refusal.tag.as_deref()),
            _ => tag,
        };
        object.maybe("tag", tag).close();
        out.push(b'\n');
    }

    const fn kind(&self, version: Version) -> &'static str {
        match self {
            Self::Hello(_) => "hello",
            Self::Registered { .. } => "registered",
            Self::Unregistered { .. } => "unregistered",
            Self::Scheduled { .. } => match version {
                Version::V1 => "ack",
                Version::V2 => "scheduled",
            },
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
            Self::Hello(version) => object
                .field("protocol", &version.number())
                .field("server", SERVER),
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
                        .maybe("reason", task.reason.as_deref())
                        .maybe("orphaned", task.orphaned.then_some(true))
                        .close();
                })
                .field("more", more),
            Self::Kicked { id, route, found } => named(object, id, route).field("found", found),
            Self::Error(refusal) => object
                .field("code", refusal.code.as_str())
                .field("message", &refusal.message)
                .maybe("id", refusal.id.as_deref())
                .maybe("route_key", refusal.route.as_deref())
                .maybe("line", refusal.line),
        }
    }
}

#[cfg(test)]
mod tests;
