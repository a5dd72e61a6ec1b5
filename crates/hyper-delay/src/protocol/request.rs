//! The requests of clients.

use std::sync::Arc;

use super::Compression;

/// A parsed line of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The reply or the error carries the same tag. 0 to 128 bytes.
    pub tag: Option<Arc<str>>,
    /// The request.
    pub request: Request,
}

/// The request of a line.
///
/// Every route and id is 1 to 128 bytes long. Limits that depend on the configuration or on the
/// time are checked later: `max_delay_days` and `max_line_bytes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Asks for a version of the protocol.
    Hello {
        /// The highest version that the client speaks, from 1.
        protocol: u64,
    },
    /// Binds a route to this connection.
    Register {
        /// The route.
        route: Arc<str>,
        /// The maximum number of deliveries in flight on the connection, from 1. Default:
        /// unchanged.
        credit: Option<u16>,
        /// Whether other connections may register the route, too.
        mode: Mode,
    },
    /// Ends a registration.
    Unregister {
        /// The route.
        route: Arc<str>,
    },
    /// Schedules a task.
    Schedule(Schedule),
    /// Acknowledges a delivery: the work is done.
    Ack {
        /// The delivery.
        delivery: Named,
        /// Whether to reply once the removal is on disk.
        confirm: bool,
    },
    /// Gives a delivery back.
    Nack {
        /// The delivery.
        delivery: Named,
        /// Time until the next round in milliseconds, at most 2^53. Default: the backoff.
        delay_ms: Option<u64>,
    },
    /// Removes a task.
    Cancel {
        /// Its route.
        route: Arc<str>,
        /// Its id.
        id: Arc<str>,
    },
    /// Asks for a pong.
    Ping,
    /// Asks for counts by state and route.
    Stats {
        /// Only this route.
        route: Option<Arc<str>>,
        /// Only routes after this one in order of name.
        after: Option<Arc<str>>,
    },
    /// Asks for the dead letters of a route.
    Dead {
        /// The route.
        route: Arc<str>,
        /// Only those after this id.
        after: Option<Arc<str>>,
        /// The maximum number of tasks, 1 to 1,000.
        limit: u16,
    },
    /// Makes a dead task due now.
    Kick {
        /// Its route.
        route: Arc<str>,
        /// Its id.
        id: Arc<str>,
    },
}

impl Request {
    /// The route and the id in the request, if any.
    #[must_use]
    pub const fn names(&self) -> (Option<&Arc<str>>, Option<&Arc<str>>) {
        match self {
            Self::Register { route, .. }
            | Self::Unregister { route }
            | Self::Dead { route, .. } => (Some(route), None),
            Self::Schedule(Schedule { route, id, .. }) => (route.as_ref(), id.as_ref()),
            Self::Ack { delivery, .. } | Self::Nack { delivery, .. } => {
                (delivery.route.as_ref(), Some(&delivery.id))
            }
            Self::Cancel { route, id } | Self::Kick { route, id } => (Some(route), Some(id)),
            Self::Stats { route, .. } => (route.as_ref(), None),
            Self::Hello { .. } | Self::Ping => (None, None),
        }
    }
}

/// The delivery that an ack or a nack answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The id of the task.
    pub id: Arc<str>,
    /// The route of the task. Default: that of the latest delivery of `id` on this connection.
    pub route: Option<Arc<str>>,
    /// The number of the round, from 1. Default: the latest.
    pub attempt: Option<u32>,
}

/// How a route is registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Other connections may register the route, too. The default.
    #[default]
    Shared,
    /// The newest registration takes the route from all others.
    Exclusive,
}

impl Mode {
    /// The mode on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Exclusive => "exclusive",
        }
    }
}

/// A request to schedule a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// The id. Default: the server makes one.
    pub id: Option<Arc<str>>,
    /// The route. Default: the route of the connection.
    pub route: Option<Arc<str>>,
    /// The time it is due in Unix milliseconds, at most 2^53.
    pub fire_at: u64,
    /// The label of the payload.
    pub compression: Compression,
    /// The decoded payload.
    pub payload: Box<[u8]>,
    /// Whether to replace a task that has the same route and id and other content.
    pub replace: bool,
}
