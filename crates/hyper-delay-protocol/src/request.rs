//! The requests of clients.

use std::sync::Arc;

use super::{Accept, BulkRequest, Compression, Credential, Filter, Headers, ListRequest, Terms};

/// A parsed line of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The reply or the error carries the same tag. 0 to 128 bytes.
    pub tag: Option<Arc<str>>,
    /// The token of an `auth`, or of a `register` or a `schedule` that has one for itself.
    pub token: Option<Box<Credential>>,
    /// The request.
    pub request: Request,
}

/// The request of a line.
///
/// Every route and id is 1 to 128 bytes long. Limits that depend on the configuration or on the
/// time are checked later: `max_delay_days` and `max_line_bytes`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Request {
    /// Asks for a version of the protocol.
    Hello {
        /// The highest version that the client speaks, from 1.
        protocol: u64,
    },
    /// Shows who the client is, by the token of its line.
    Auth,
    /// Binds a route to this connection.
    Register {
        /// The route.
        route: Arc<str>,
        /// The maximum number of deliveries in flight on the connection, from 1. Default:
        /// unchanged.
        credit: Option<u16>,
        /// Whether other connections may register the route, too.
        mode: RegisterMode,
        /// The compressions that the connection accepts. Default: unchanged.
        accept: Option<Accept>,
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
        delivery: DeliverySelector,
        /// Whether to reply once the removal is on disk.
        confirm: bool,
    },
    /// Gives a delivery back.
    Nack {
        /// The delivery.
        delivery: DeliverySelector,
        /// Time until the next round in milliseconds, at most 2^53. Default: the backoff.
        delay_ms: Option<u64>,
        /// The reason, for operators. 1 to 256 bytes.
        reason: Option<Arc<str>>,
        /// Whether the delivery has failed. If not, it counts for no maximum of attempts; without a
        /// delay the task is due at once for other consumers. Default: true.
        failed: bool,
    },
    /// Extends the time to answer a delivery.
    Touch {
        /// The delivery.
        delivery: DeliverySelector,
        /// The time to answer from now on in milliseconds, 1 to a day. Default: the ack timeout.
        extend_ms: Option<u64>,
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
        /// Only these.
        filter: Box<Filter>,
        /// Whether the reply has the payloads.
        payload: bool,
    },
    /// Asks for one task.
    Get {
        /// Its route.
        route: Arc<str>,
        /// Its id.
        id: Arc<str>,
        /// Whether the reply has the payload.
        payload: bool,
    },
    /// Asks for tasks in order of time.
    List(Box<ListRequest>),
    /// Asks for the number of waiting tasks for the minutes, hours and days ahead.
    Future,
    /// Removes a dead task.
    Delete {
        /// Its route.
        route: Arc<str>,
        /// Its id.
        id: Arc<str>,
    },
    /// Kicks or removes every task that matches.
    Bulk(Box<BulkRequest>),
    /// Stops the deliveries of a route.
    Pause {
        /// The route.
        route: Arc<str>,
    },
    /// Delivers the tasks of a paused route again.
    Resume {
        /// The route.
        route: Arc<str>,
    },
    /// Asks for the bulk operations.
    Jobs,
    /// Ends a bulk operation.
    Stop {
        /// Its number.
        job: u64,
    },
    /// Asks for the audit.
    Audit {
        /// Only lines with lower numbers.
        before: Option<u64>,
        /// The maximum number of lines, 1 to 1,000.
        limit: u16,
    },
    /// Asks for the numbers of dead letters by reason.
    Reasons {
        /// Only those of this route.
        route: Option<Arc<str>>,
        /// The cursor of the reply before.
        after: Option<Arc<str>>,
    },
    /// Asks for a piece of a backup.
    Backup {
        /// The position of its first byte. 0 begins a backup; otherwise the end of the piece before
        /// on this connection.
        offset: u64,
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
            Self::Ack { delivery, .. }
            | Self::Nack { delivery, .. }
            | Self::Touch { delivery, .. } => (delivery.route.as_ref(), Some(&delivery.id)),
            Self::Cancel { route, id } | Self::Kick { route, id } => (Some(route), Some(id)),
            Self::Get { route, id, .. } | Self::Delete { route, id } => (Some(route), Some(id)),
            Self::Pause { route } | Self::Resume { route } => (Some(route), None),
            Self::Bulk(bulk) => (Some(&bulk.route), None),
            Self::Reasons { route, .. } => (route.as_ref(), None),
            Self::Stats { route, .. } => (route.as_ref(), None),
            Self::List(list) => (list.route.as_ref(), None),
            Self::Hello { .. } | Self::Auth | Self::Backup { .. } | Self::Ping | Self::Future => {
                (None, None)
            }
            Self::Jobs | Self::Stop { .. } | Self::Audit { .. } => (None, None),
        }
    }
}

/// The delivery that an ack or a nack answers.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DeliverySelector {
    /// The id of the task.
    pub id: Arc<str>,
    /// The route of the task. Default: that of the latest delivery of `id` on this connection.
    pub route: Option<Arc<str>>,
    /// The number of the round, from 1. Default: the latest.
    pub attempt: Option<u32>,
}

/// Whether a registration shares its route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum RegisterMode {
    /// Other connections may register the route, too. The default.
    #[default]
    Shared,
    /// The newest registration takes the route from all others.
    Exclusive,
}

impl RegisterMode {
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
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
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
    #[serde(with = "super::node_encoding::bytes")]
    pub payload: Box<[u8]>,
    /// Whether to replace a task that has the same route and id and other content.
    pub replace: bool,
    /// Names and values that its deliveries carry beside the payload. They are not content.
    pub headers: Headers,
    /// Settings of this task, which override those of the route and of the server. `None`: none.
    #[serde(with = "super::node_encoding::terms")]
    pub terms: Option<Box<Terms>>,
}
