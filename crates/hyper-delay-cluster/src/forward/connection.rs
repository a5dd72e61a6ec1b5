//! A connection of a client, as its serving node knows it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use race_wheel::Tick;

use super::{
    credit::CreditLoans,
    deliveries::ServedDeliveries,
    registration_options::{OptionsId, RegistrationOptions},
};
use crate::ShardId;
use hyper_delay_engine::scheduler::OwnRegistration;
use hyper_delay_protocol::{Accept, RegisterMode};

/// A connection of a client.
#[derive(Debug)]
pub(super) struct ServedConnection {
    /// The routes it has registered.
    routes: BTreeMap<Arc<str>, RegisterMode>,
    /// The route the server made for it, because it scheduled without one.
    own: OwnRegistration,
    options: RegistrationOptions,
    /// The shards whose leaders know it.
    pub(super) opened: BTreeSet<ShardId>,
    pub(super) loans: CreditLoans,
    pub(super) deliveries: ServedDeliveries,
    /// It takes no further deliveries.
    pub(super) is_closing: bool,
}

impl ServedConnection {
    pub(super) fn new(credit: u16) -> Self {
        Self {
            routes: BTreeMap::new(),
            own: OwnRegistration::default(),
            options: RegistrationOptions::new(credit),
            opened: BTreeSet::new(),
            loans: CreditLoans::new(credit),
            deliveries: ServedDeliveries::new(credit),
            is_closing: false,
        }
    }

    /// A registration asks for this beside its route. Balance afterwards.
    pub(super) fn request_options(
        &mut self,
        credit: Option<u16>,
        accept: Option<Accept>,
    ) -> Option<OptionsId> {
        let options = self.options.request(credit, accept);
        self.set_credit();
        options
    }

    /// A registration with this wish has succeeded, or has failed. Balance afterwards.
    pub(super) fn registration_answered(
        &mut self,
        options: Option<OptionsId>,
        has_succeeded: bool,
    ) {
        let Some(options) = options else {
            return;
        };
        match has_succeeded {
            true => self.options.grant(options),
            false => self.options.refuse(options),
        }
        self.set_credit();
    }

    fn set_credit(&mut self) {
        let credit = self.options.credit_limit();
        self.loans.set_credit(credit);
        self.deliveries.set_credit(credit);
    }

    /// The deliveries that it can take at a time.
    pub(super) const fn credit(&self) -> u16 {
        self.options.credit()
    }

    /// The compressions that it accepts.
    pub(super) const fn accept(&self) -> Accept {
        self.options.accept()
    }

    /// Adds a registration. Returns whether it is new.
    pub(super) fn add_route(&mut self, route: &Arc<str>, mode: RegisterMode) -> bool {
        self.routes.insert(route.clone(), mode).is_none()
    }

    /// Returns whether it had registered the route.
    pub(super) fn remove_route(&mut self, route: &str) -> bool {
        if self.own.is_named(route) {
            self.own.release();
        }
        self.routes.remove(route).is_some()
    }

    /// A schedule without a route is asked for: it rests on the registration of its own route.
    pub(super) const fn note_own_schedule(&mut self) {
        self.own.begin_schedule();
    }

    /// The route stays registered: a schedule on it was accepted, or may have been, or the client has
    /// registered it.
    pub(super) const fn keep_own_route(&mut self) {
        self.own.keep_registered();
    }

    /// A schedule on its own route is answered. Returns whether nothing rests on the registration of
    /// that route any more.
    pub(super) const fn own_schedule_answered(&mut self, was_refused: bool) -> bool {
        self.own.end_schedule(was_refused)
    }

    pub(super) fn has_route(&self, route: &str) -> bool {
        self.routes.contains_key(route)
    }

    pub(super) const fn routes(&self) -> &BTreeMap<Arc<str>, RegisterMode> {
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
        self.own.name_or_new()
    }

    /// Returns the number of its deliveries in flight of a shard.
    pub(super) fn used(&mut self, shard: ShardId, now: Tick) -> u16 {
        let of_shard = self.deliveries.in_flight_of_shard(shard);
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
        self.loans.is_closed(shard) && {
            let used = self.used(shard, now);
            self.loans.set_used(shard, used)
        }
    }
}
