//! What a serving node knows of a connection.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use race_wheel::Tick;

use super::{
    deliveries::Deliveries,
    lending::Lending,
    wishes::{WishId, Wishes},
};
use crate::ShardId;
use hyper_delay_engine::scheduler::OwnRegistration;
use hyper_delay_protocol::{Accept, Mode};

/// A connection of a client.
#[derive(Debug)]
pub(super) struct Connection {
    /// The routes it has registered.
    routes: BTreeMap<Arc<str>, Mode>,
    /// The route the server made for it, because it scheduled without one.
    own: OwnRegistration,
    wishes: Wishes,
    /// The shards whose leaders know it.
    pub(super) opened: BTreeSet<ShardId>,
    pub(super) lending: Lending,
    pub(super) deliveries: Deliveries,
    /// It takes no further deliveries.
    pub(super) is_closing: bool,
}

impl Connection {
    pub(super) fn new(credit: u16) -> Self {
        Self {
            routes: BTreeMap::new(),
            own: OwnRegistration::default(),
            wishes: Wishes::new(credit),
            opened: BTreeSet::new(),
            lending: Lending::new(credit),
            deliveries: Deliveries::new(credit),
            is_closing: false,
        }
    }

    /// A registration asks for this beside its route. Balance afterwards.
    pub(super) fn wish(&mut self, credit: Option<u16>, accept: Option<Accept>) -> Option<WishId> {
        let wish = self.wishes.ask(credit, accept);
        self.set_credit();
        wish
    }

    /// A registration with this wish has succeeded, or has failed. Balance afterwards.
    pub(super) fn is_registered(&mut self, wish: Option<WishId>, has_succeeded: bool) {
        let Some(wish) = wish else {
            return;
        };
        match has_succeeded {
            true => self.wishes.grant(wish),
            false => self.wishes.refuse(wish),
        }
        self.set_credit();
    }

    fn set_credit(&mut self) {
        let credit = self.wishes.usable();
        self.lending.set_credit(credit);
        self.deliveries.set_credit(credit);
    }

    /// The deliveries that it can take at a time.
    pub(super) const fn credit(&self) -> u16 {
        self.wishes.credit()
    }

    /// The compressions that it accepts.
    pub(super) const fn accept(&self) -> Accept {
        self.wishes.accept()
    }

    /// Adds a registration. Returns whether it is new.
    pub(super) fn add_route(&mut self, route: &Arc<str>, mode: Mode) -> bool {
        self.routes.insert(route.clone(), mode).is_none()
    }

    /// Returns whether it had registered the route.
    pub(super) fn remove_route(&mut self, route: &str) -> bool {
        if self.own.is(route) {
            self.own.leave();
        }
        self.routes.remove(route).is_some()
    }

    /// A schedule without a route is asked for: it rests on the registration of its own route.
    pub(super) const fn schedules_on_own(&mut self) {
        self.own.schedules();
    }

    /// The route stays registered: a schedule on it was accepted, or may have been, or the client has
    /// registered it.
    pub(super) const fn keeps_own(&mut self) {
        self.own.keep();
    }

    /// A schedule on its own route is answered. Returns whether nothing rests on the registration of
    /// that route any more.
    pub(super) const fn scheduled_on_own(&mut self, was_refused: bool) -> bool {
        self.own.scheduled(was_refused)
    }

    pub(super) fn has_route(&self, route: &str) -> bool {
        self.routes.contains_key(route)
    }

    pub(super) const fn routes(&self) -> &BTreeMap<Arc<str>, Mode> {
        &self.routes
    }

    /// The only route it has registered, if it has exactly one.
    pub(super) fn only_route(&self) -> Option<&Arc<str>> {
        let mut routes = self.routes.keys();
        let route = routes.next();
        route.filter(|_| routes.next().is_none())
    }

    /// The route that the server made for it.
    pub(super) const fn own_route(&self) -> Option<&Arc<str>> {
        self.own.name()
    }

    /// The route the server makes for it: always the same.
    pub(super) fn make_own_route(&mut self) -> Arc<str> {
        self.own.make()
    }

    /// What it has in flight of a shard.
    pub(super) fn used(&mut self, shard: ShardId, now: Tick) -> u16 {
        let of_shard = self.deliveries.of_shard(shard);
        let used = of_shard.filter(|(_, delivered)| delivered.until > now);
        u16::try_from(used.count()).unwrap_or(u16::MAX)
    }

    /// Whether it has registered nothing and has nothing in flight.
    pub(super) fn is_idle(&self, now: Tick) -> bool {
        self.routes.is_empty() && !self.deliveries.are_in_flight(now)
    }

    /// What it has in flight of a shard without a leader counts for its credit. Returns whether that
    /// has changed.
    pub(super) fn count_used(&mut self, shard: ShardId, now: Tick) -> bool {
        self.lending.is_closed(shard) && {
            let used = self.used(shard, now);
            self.lending.used(shard, used)
        }
    }
}
