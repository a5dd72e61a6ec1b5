//! How many tasks are in which state.

use std::{io, sync::Arc};

use super::object::{Count, Object};

/// The counts of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stats {
    /// Over all routes.
    pub counts: Counts,
    /// How many connections are open.
    pub connections: u64,
    /// How many acks and nacks named no delivery, since the server started.
    pub unknown_acks: u64,
    /// Those asked for, in order of name.
    pub routes: Vec<RouteStats>,
    /// Whether there are others after them.
    pub more: bool,
}

/// The counts of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteStats {
    /// Its name.
    pub route: Arc<str>,
    /// Its tasks.
    pub counts: Counts,
    /// How many connections have registered it.
    pub consumers: u64,
}

/// Tasks by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// On disk for a time; those in flight too.
    pub waiting: u64,
    /// Due, with no consumer that has room.
    pub parked: u64,
    /// With a consumer at this moment.
    pub in_flight: u64,
    /// Out of attempts.
    pub dead: u64,
}

impl Stats {
    pub(super) fn fields<'a, W: io::Write>(&self, object: Object<'a, W>) -> Object<'a, W> {
        self.counts
            .fields(object)
            .field("connections", &self.connections)
            .field("unknown_acks", &self.unknown_acks)
            .list("routes", &self.routes, RouteStats::write)
            .field("more", &self.more)
    }
}

impl RouteStats {
    /// How many bytes of a line it takes.
    #[must_use]
    pub fn length(&self) -> usize {
        let mut count = Count(0);
        self.write(Object::nested(&mut count));
        count.0
    }

    fn write<W: io::Write>(&self, object: Object<'_, W>) {
        let object = object.field("route_key", &*self.route);
        let object = self.counts.fields(object);
        object.field("consumers", &self.consumers).close();
    }
}

impl Counts {
    fn fields<'a, W: io::Write>(&self, object: Object<'a, W>) -> Object<'a, W> {
        object
            .field("waiting", &self.waiting)
            .field("parked", &self.parked)
            .field("in_flight", &self.in_flight)
            .field("dead", &self.dead)
    }
}
