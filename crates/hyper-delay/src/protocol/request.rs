//! What clients ask for.

use std::sync::Arc;

use super::Compression;

/// One line of a client, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// To be carried by the reply, or the error. At most 128 bytes, possibly none.
    pub tag: Option<Arc<str>>,
    /// What is asked for.
    pub request: Request,
}

/// The request of a line.
///
/// Every route and id is 1 to 128 bytes long. Limits that depend on the configuration or the time are not
/// checked yet: how far ahead a task may be due, and how long a delivery may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Binds a route to this connection.
    Register {
        /// The route.
        route: Arc<str>,
        /// How many deliveries the connection may have in flight, from 1. As before if absent.
        credit: Option<u16>,
        /// Whether the route is shared.
        mode: Mode,
    },
    /// Ends a registration.
    Unregister {
        /// The route.
        route: Arc<str>,
    },
    /// Makes a task.
    Schedule(Schedule),
    /// The work of a delivery is done.
    Ack {
        /// Which delivery.
        delivery: Named,
        /// Whether to reply once it is on disk.
        confirm: bool,
    },
    /// Gives a delivery back.
    Nack {
        /// Which delivery.
        delivery: Named,
        /// How long until the next round, in milliseconds, at most 2^53. After the backoff if absent.
        delay_ms: Option<u64>,
    },
    /// Removes a task.
    Cancel {
        /// Its route.
        route: Arc<str>,
        /// Its id on that route.
        id: Arc<str>,
    },
    /// Asks for a sign of life.
    Ping,
    /// Counts by state and route.
    Stats {
        /// This route only.
        route: Option<Arc<str>>,
        /// Only routes whose names come after this one.
        after: Option<Arc<str>>,
    },
    /// The dead letters of a route.
    Dead {
        /// The route.
        route: Arc<str>,
        /// Those after this id only.
        after: Option<Arc<str>>,
        /// How many at most, from 1 to 1,000.
        limit: u16,
    },
    /// Makes a dead task due now.
    Kick {
        /// Its route.
        route: Arc<str>,
        /// Its id on that route.
        id: Arc<str>,
    },
}

impl Request {
    /// The route and the id that it names, if it does.
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
            Self::Ping => (None, None),
        }
    }
}

/// How an ack or a nack names its delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The id of the task.
    pub id: Arc<str>,
    /// The route of the task; the latest delivery of the id on this connection if absent.
    pub route: Option<Arc<str>>,
    /// The round it was delivered in, from 1; the latest if absent.
    pub attempt: Option<u32>,
}

/// How a route is registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Beside other consumers. The default.
    #[default]
    Shared,
    /// Alone: the newest takes the route from all others.
    Exclusive,
}

impl Mode {
    /// The mode as it is on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Exclusive => "exclusive",
        }
    }
}

/// A task as it is scheduled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// Its id; the server makes one if absent.
    pub id: Option<Arc<str>>,
    /// Its route; the connection's if absent.
    pub route: Option<Arc<str>>,
    /// When it is due, in Unix milliseconds, at most 2^53.
    pub fire_at: u64,
    /// The label of the payload.
    pub compression: Compression,
    /// What is to be delivered, decoded.
    pub payload: Box<[u8]>,
    /// Whether it replaces a task of the same name with other content.
    pub replace: bool,
}
