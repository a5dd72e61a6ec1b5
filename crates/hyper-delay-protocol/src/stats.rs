//! Counts of tasks by state and route.

use std::{io, sync::Arc};

use super::json_writer::{self, JsonWriter};

/// The counts of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Stats {
    /// The sums over all routes.
    pub counts: Counts,
    /// Open connections.
    pub connections: u64,
    /// Acks and nacks without a matching delivery since the server started.
    pub unknown_acks: u64,
    /// Tasks on routes that servers made and no connection has registered.
    pub orphaned: u64,
    /// The requested routes, in order of name.
    pub routes: Vec<RouteStats>,
    /// Whether there are more routes after these.
    pub more: bool,
}

impl Stats {
    /// The maximum number of routes in one reply.
    pub const MAX_ROUTES: usize = 1000;
}

/// The counts of a route.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct RouteStats {
    /// The name of the route.
    pub route: Arc<str>,
    /// The tasks of the route.
    pub counts: Counts,
    /// Connections that have registered the route.
    pub consumers: u64,
    /// Whether a server made the route, and no connection has it registered.
    pub orphaned: bool,
    /// Whether the route is paused: none of its tasks are delivered.
    pub paused: bool,
}

/// Tasks by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// On disk for a later time. Includes tasks in flight.
    pub waiting: u64,
    /// Due, and no consumer has room.
    pub parked: u64,
    /// With a consumer now.
    pub in_flight: u64,
    /// Out of attempts.
    pub dead: u64,
    /// Of the waiting and parked ones: those with a last failure. Includes tasks in flight.
    pub retrying: u64,
}

impl Stats {
    pub(super) fn fields<'a, W: io::Write>(&self, object: JsonWriter<'a, W>) -> JsonWriter<'a, W> {
        self.counts
            .fields(object)
            .field("connections", &self.connections)
            .field("unknown_acks", &self.unknown_acks)
            .field("orphaned", &self.orphaned)
            .list("routes", &self.routes, RouteStats::write)
            .field("more", &self.more)
    }
}

impl RouteStats {
    /// The length of the row in a line, in bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        json_writer::nested_length(|object| self.write(object))
    }

    fn write<W: io::Write>(&self, object: JsonWriter<'_, W>) {
        let object = object.field("route_key", &*self.route);
        let object = self.counts.fields(object);
        object
            .field("consumers", &self.consumers)
            .optional("orphaned", self.orphaned.then_some(true))
            .optional("paused", self.paused.then_some(true))
            .close();
    }
}

impl Counts {
    fn fields<'a, W: io::Write>(&self, object: JsonWriter<'a, W>) -> JsonWriter<'a, W> {
        object
            .field("waiting", &self.waiting)
            .field("parked", &self.parked)
            .field("in_flight", &self.in_flight)
            .field("dead", &self.dead)
            .field("retrying", &self.retrying)
    }
}
