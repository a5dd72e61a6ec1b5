//! The front: the rules of a connection of a client.
//!
//! It owns what belongs to a connection, whatever shards its routes are in: its registrations and its
//! own route, the ids that the server makes, the limits of routes, its credit, and its deliveries by
//! id, so that an answer that names only an id is exact. It gives each request of a client its full
//! names for the scheduler of its route, or refuses it.
//!
//! ```text
//! single server:  connections ──▶ front ──▶ scheduler          one thread, direct calls
//! cluster:        connections ──▶ front, sessions ──▶ schedulers of the shards
//! ```
//!
//! A pure state machine, like the scheduler. A request changes nothing before it is answered: the
//! front returns the change as a [`Pending`], which the answer applies or drops. Credit reaches a
//! scheduler only as a loan ([`LoanChange`]): a single server lends all of it.
//!
//! A consumer without a socket is one more connection to the front.

mod admission;
mod connection;
mod credit;
mod deliveries;
mod delivery;
mod given_names;
mod input;
mod loans;
mod new_ids;
mod options;
mod pending;
mod reads;
mod registrations;
mod requests;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use race_wheel::Tick;

pub use admission::{Addressed, Admission};
pub use credit::LoanChange;
pub use delivery::{Delivery, GivenBack, Origin};
pub use given_names::GivenNames;
pub use input::{ClientRequest, ConsumerMessage, FrontInput, ReplyTo, StatsRequest, TaskLookup};
pub use new_ids::NewIds;
pub use pending::{NoAnswer, Pending};
pub use requests::{NamedSchedule, OwnRegistration, Registration};

use crate::{
    scheduler::ConsumerId,
    shard::{ShardId, shard_of},
};
use connection::Connection;
use hyper_delay_config::Config;
use hyper_delay_protocol::{Accept, RegisterMode, Reply};
use pending::Cause;
use registrations::Effect;

/// The part of the configuration that concerns the front.
#[derive(Debug, Clone, Copy)]
pub struct FrontSettings {
    /// The credit of a connection that has named none.
    credit: u16,
    /// The most routes of a connection, and of all.
    max_routes_per_connection: usize,
    max_routes: usize,
    /// The longest delay of a nack, in milliseconds.
    max_delay_millis: u64,
}

impl From<&Config> for FrontSettings {
    fn from(config: &Config) -> Self {
        Self {
            credit: config.credit,
            max_routes_per_connection: config.max_routes_per_connection,
            max_routes: config.max_routes,
            max_delay_millis: config.max_delay_days.saturating_mul(86_400_000),
        }
    }
}

/// See the [module](self). `O` is the origin of a delivery.
#[derive(Debug)]
pub struct Front<O> {
    settings: FrontSettings,
    shards: u16,
    connections: BTreeMap<ConsumerId, Connection<O>>,
    /// The routes of all connections.
    routes: usize,
    /// The connections that have deliveries which wait for their ids.
    waiting: BTreeSet<ConsumerId>,
    new_ids: NewIds,
}

impl<O: Origin> Front<O> {
    /// Creates the front of a server with this many shards.
    #[must_use]
    pub fn new(settings: FrontSettings, shards: u16) -> Self {
        Self {
            new_ids: NewIds::default(),
            settings,
            shards,
            connections: BTreeMap::new(),
            routes: 0,
            waiting: BTreeSet::new(),
        }
    }

    /// Takes the ids and names that it makes from there.
    #[must_use]
    pub fn with_new_ids(self, new_ids: NewIds) -> Self {
        Self { new_ids, ..self }
    }

    /// Applies new settings. The credit is that of connections that open later.
    pub const fn set_settings(&mut self, settings: FrontSettings) {
        self.settings = settings;
    }

    /// Returns the shard of a route.
    #[must_use]
    pub fn shard_of(&self, route: &str) -> ShardId {
        shard_of(route, self.shards)
    }

    /// A connection is open.
    pub fn open(&mut self, consumer: ConsumerId) {
        let connection = Connection::new(self.settings.credit);
        self.connections.insert(consumer, connection);
    }

    /// A connection is about to close and takes no further deliveries. Returns whether that is news.
    pub fn close_soon(&mut self, consumer: ConsumerId) -> bool {
        let connection = self.connections.get_mut(&consumer);
        connection.is_some_and(|it| !std::mem::replace(&mut it.is_closing, true))
    }

    /// A connection is closed. Returns whether it was open.
    pub fn close(&mut self, consumer: ConsumerId) -> bool {
        let Some(closed) = self.connections.remove(&consumer) else {
            return false;
        };
        self.routes -= closed.routes.len();
        self.waiting.remove(&consumer);
        true
    }

    /// Returns whether a connection is open.
    #[must_use]
    pub fn is_open(&self, consumer: ConsumerId) -> bool {
        self.connections.contains_key(&consumer)
    }

    /// Returns whether a connection takes no further deliveries.
    #[must_use]
    pub fn is_closing(&self, consumer: ConsumerId) -> bool {
        let connection = self.connections.get(&consumer);
        connection.is_none_or(|connection| connection.is_closing)
    }

    /// Returns the open connections, in order.
    pub fn connections(&self) -> impl Iterator<Item = ConsumerId> {
        self.connections.keys().copied()
    }

    /// Returns the number of open connections.
    #[must_use]
    pub fn len(&self) -> usize {
        self.connections.len()
    }

    /// Returns whether no connection is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Returns whether a connection has no route.
    #[must_use]
    pub(crate) fn has_no_route(&self, consumer: ConsumerId) -> bool {
        let connection = self.connections.get(&consumer);
        connection.is_none_or(|connection| connection.routes.len() == 0)
    }

    /// Returns whether a connection has no route and no delivery that it can answer in time.
    #[must_use]
    pub fn is_idle(&self, consumer: ConsumerId, now: Tick) -> bool {
        let connection = self.connections.get(&consumer);
        connection.is_none_or(|it| it.routes.len() == 0 && !it.deliveries.are_in_flight(now))
    }

    /// Returns the routes of a connection that the scheduler of a shard has registered, or was asked to,
    /// in order of name.
    pub fn routes_of(
        &self,
        consumer: ConsumerId,
        shard: ShardId,
    ) -> impl Iterator<Item = (&Arc<str>, RegisterMode)> {
        let connection = self.connections.get(&consumer).into_iter();
        let routes = connection.flat_map(|it| it.routes.sent());
        routes.filter(move |(route, _)| self.shard_of(route) == shard)
    }

    /// Returns whether the scheduler of a shard has registered a route of a connection, or was asked to.
    #[must_use]
    pub fn has_route_of(&self, consumer: ConsumerId, shard: ShardId) -> bool {
        let connection = self.connections.get(&consumer);
        connection.is_some_and(|it| it.routes.has_sent(|route| self.shard_of(route) == shard))
    }

    /// Returns whether a connection has a route, or has asked for it last.
    #[must_use]
    pub fn has_route(&self, consumer: ConsumerId, route: &str) -> bool {
        let connection = self.connections.get(&consumer);
        connection.is_some_and(|connection| connection.routes.has(route))
    }

    /// Returns the route that the server made for a connection, if there is one.
    #[must_use]
    pub fn own_route(&self, consumer: ConsumerId) -> Option<&Arc<str>> {
        self.connections.get(&consumer)?.routes.own()
    }

    /// Returns the credit of a connection, and the compressions that it accepts.
    #[must_use]
    pub fn options(&self, consumer: ConsumerId) -> Option<(u16, Accept)> {
        let options = &self.connections.get(&consumer)?.options;
        Some((options.credit(), options.accept()))
    }

    /// Applies what a request changes, or drops it, as the reply says. Writes the credit of the
    /// connection into the reply to a registration. Returns the registration that follows, if one
    /// does. Balance the connection's credit afterwards.
    pub fn answered(
        &mut self,
        consumer: ConsumerId,
        pending: Pending,
        reply: &mut Reply,
    ) -> Option<OwnRegistration> {
        if pending.is_none() {
            return None;
        }
        if let Reply::Error(_) = reply {
            self.refused(consumer, pending);
            return None;
        }
        let asked = pending.credit();
        let own = self.accepted(consumer, pending);
        if let Reply::Registered { credit, .. } = reply {
            // The connection can be closed by now.
            let of_connection = self.options(consumer).map(|(credit, _)| credit);
            *credit = of_connection.or(asked).unwrap_or(*credit);
        }
        own
    }

    /// There is no answer to a request, because its scheduler is gone. Returns the registration that
    /// follows, if one does. Balance the connection's credit afterwards.
    pub fn unanswered(
        &mut self,
        consumer: ConsumerId,
        pending: Pending,
        why: NoAnswer,
    ) -> Option<OwnRegistration> {
        let change = pending.0.as_ref()?;
        let is_refused = match (change.cause, why) {
            // The next leader learns of no registration that the client has asked for in vain.
            (Cause::Register { .. }, _) | (Cause::Schedule, NoAnswer::Unsent) => true,
            // A task may have been scheduled, whose route needs a consumer.
            (Cause::Schedule, NoAnswer::Lost) => false,
            // The next leader learns of its registration, and of none that was to end.
            (Cause::OwnRoute | Cause::Unregister, _) => false,
        };
        if is_refused {
            self.refused(consumer, pending);
            return None;
        }
        self.accepted(consumer, pending)
    }

    /// A request is accepted, and its change applied. Returns the registration that follows from it, if
    /// one does. Balance the connection's credit afterwards.
    pub fn accepted(&mut self, consumer: ConsumerId, pending: Pending) -> Option<OwnRegistration> {
        let change = pending.0?;
        let connection = self.connections.get_mut(&consumer)?;
        let route = change.route.route.clone();
        let effect = match change.cause {
            Cause::Schedule => match connection.routes.ask_now(change.route) {
                Ok(asked) => return Some(OwnRegistration::new(asked)),
                Err(effect) => effect,
            },
            Cause::Register { options, .. } => {
                if let Some(options) = options {
                    connection.options.grant(options);
                    connection.update_credit();
                }
                connection.routes.apply(change.route)
            }
            Cause::Unregister | Cause::OwnRoute => connection.routes.apply(change.route),
        };
        self.note(consumer, &route, effect);
        None
    }

    /// A request is refused: it has changed nothing. Balance the connection's credit afterwards.
    pub fn refused(&mut self, consumer: ConsumerId, pending: Pending) {
        let (Some(change), Some(connection)) = (pending.0, self.connections.get_mut(&consumer))
        else {
            return;
        };
        if let Cause::Register {
            options: Some(options),
            ..
        } = change.cause
        {
            connection.options.refuse(options);
            connection.update_credit();
        }
        let route = change.route.route.clone();
        let effect = connection.routes.refuse(change.route);
        self.note(consumer, &route, effect);
    }

    /// Another connection has taken a route.
    pub fn replaced(&mut self, consumer: ConsumerId, route: &str) {
        if let Some(connection) = self.connections.get_mut(&consumer) {
            let effect = connection.routes.remove(route);
            self.note(consumer, route, effect);
        }
    }

    /// Counts the routes, and ends the loan of a shard with its last one.
    fn note(&mut self, consumer: ConsumerId, route: &str, effect: Effect) {
        match effect {
            Effect::Unchanged => {}
            Effect::Gained => return self.routes += 1,
            Effect::Lost => self.routes -= 1,
        }
        // The only scheduler can keep all of it.
        if self.shards == 1 {
            return;
        }
        let shard = self.shard_of(route);
        // A route counts for the connection that a schedule without an answer needs, though its
        // scheduler may have it no longer.
        if !self.has_route_of(consumer, shard) {
            self.retire(consumer, shard);
        }
    }
}

#[cfg(test)]
mod tests;
