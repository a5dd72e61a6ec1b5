//! The requests that the scheduler takes.

use std::sync::Arc;

use super::RequestNames;
use crate::{Accept, Compression, Due, Headers, Terms, due::time_too_far_ahead};

/// A request of a producer or a consumer. The scheduler takes those of a connection in the order in
/// which they were sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskRequest {
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
    /// Moves the due time of a task, and nothing else.
    Move {
        /// Its route.
        route: Arc<str>,
        /// Its id.
        id: Arc<str>,
        /// The new due time.
        to: MoveTo,
    },
    /// Asks for a pong.
    Ping,
}

impl TaskRequest {
    /// The route and the id in the request, if any.
    #[must_use]
    pub const fn names(&self) -> RequestNames<'_> {
        match self {
            Self::Register { route, .. } | Self::Unregister { route } => (Some(route), None),
            Self::Schedule(Schedule { route, id, .. }) => (route.as_ref(), id.as_ref()),
            Self::Ack { delivery, .. }
            | Self::Nack { delivery, .. }
            | Self::Touch { delivery, .. } => (delivery.route.as_ref(), Some(&delivery.id)),
            Self::Cancel { route, id } | Self::Move { route, id, .. } => (Some(route), Some(id)),
            Self::Ping => (None, None),
        }
    }
}

/// The new due time of a task that is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum MoveTo {
    /// The time of the request: `run_now`.
    Now,
    /// This time in Unix milliseconds, at most 2^53; a time that has passed is that of the request:
    /// `reschedule`.
    At(u64),
}

impl MoveTo {
    /// Refuses a time that is more than `most` milliseconds ahead of `now`, in Unix milliseconds.
    ///
    /// # Errors
    ///
    /// The error names the value and the latest one.
    pub fn check(self, now: u64, most: u64) -> Result<(), String> {
        let latest = now.saturating_add(most);
        match self {
            Self::At(due) if due > latest => Err(time_too_far_ahead("due", due, latest)),
            Self::At(_) | Self::Now => Ok(()),
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
    /// When it is due.
    pub due: Due,
    /// The label of the payload.
    pub compression: Compression,
    /// The decoded payload.
    #[serde(with = "crate::node_encoding::bytes")]
    pub payload: Box<[u8]>,
    /// Whether to replace a task that has the same route and id and other content.
    pub replace: bool,
    /// Names and values that its deliveries carry beside the payload. They are not content.
    pub headers: Headers,
    /// Settings of this task, which override those of the route and of the server. `None`: none.
    #[serde(with = "crate::node_encoding::terms")]
    pub terms: Option<Box<Terms>>,
}
