//! The deliveries of a connection that it can still answer.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    sync::Arc,
};

use race_wheel::Tick;

use super::{Delivery, GivenBack, Origin};
use crate::{key_hash::KeyHash, late_copies::LateCopies};
use hyper_delay_protocol::DeliverySelector;

/// The place of a delivery that was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Added {
    /// It is in flight.
    InFlight,
    /// Another one with its id is in flight: it is queued.
    Queued,
    /// It was not added: the connection can still answer a delivery of an earlier revision that has
    /// the same full name. A new leader does not know the rounds of those that had no answer in their
    /// time.
    Confusing,
}

/// See the [module](self). An id is delivered once at a time, so that an answer that names only the
/// id is exact.
#[derive(Debug)]
pub(super) struct Deliveries<O> {
    in_flight: HashMap<Arc<str>, Delivery<O>, KeyHash>,
    /// Those whose turn has not come: the connection has another one with the same id.
    queued: HashMap<Arc<str>, VecDeque<Delivery<O>>, KeyHash>,
    /// Deliveries without an answer in their time. Some of them can still be in flight here.
    late: LateCopies<Delivery<O>>,
    /// The deliveries since the last scan of those in flight.
    added: usize,
}

/// Each delivery allows a later scan to look at this many deliveries in flight.
const DELIVERIES_OF_SCAN: usize = 64;

impl<O: Origin> Deliveries<O> {
    /// Those of a connection with that credit.
    pub(super) fn new(credit: u16) -> Self {
        Self {
            in_flight: HashMap::default(),
            queued: HashMap::default(),
            late: LateCopies::new(credit),
            added: 0,
        }
    }

    /// The connection has that credit from now on.
    pub(super) fn set_credit(&mut self, credit: u16) {
        self.late.raise_limit(credit);
    }

    /// Adds a delivery, or queues it until its id is free.
    pub(super) fn add(&mut self, id: &Arc<str>, delivery: Delivery<O>, now: Tick) -> Added {
        if self.late.copies_of(id).any(|it| it.is_namesake(&delivery)) {
            return Added::Confusing;
        }
        self.added += 1;
        match self.in_flight.entry(id.clone()) {
            Entry::Vacant(free) => {
                free.insert(delivery);
            }
            Entry::Occupied(mut before) => {
                if before.get().is_namesake(&delivery) {
                    return Added::Confusing;
                }
                // A scheduler gives no second copy before the time of the first one has passed.
                let is_over = before.get().until <= now || before.get().route == delivery.route;
                if !is_over {
                    let queued = self.queued.entry(id.clone()).or_default();
                    queued.push_back(delivery);
                    return Added::Queued;
                }
                let before = before.insert(delivery);
                self.add_late(id, before);
            }
        }
        Added::InFlight
    }

    /// Removes and returns the delivery that an answer names: the one in flight, or the latest of those
    /// whose time has passed and that are remembered.
    pub(super) fn take_answered(
        &mut self,
        named: &DeliverySelector,
        now: Tick,
    ) -> Option<Delivery<O>> {
        self.take_in_flight(named, now).or_else(|| {
            self.late
                .take_latest(&named.id, |delivery| delivery.matches(named))
        })
    }

    /// Removes and returns the delivery in flight that a nack names, or returns the latest of those
    /// whose time has passed.
    pub(super) fn give_back(
        &mut self,
        named: &DeliverySelector,
        now: Tick,
    ) -> Option<GivenBack<O>> {
        if let Some(delivery) = self.take_in_flight(named, now) {
            let was_late = false;
            return Some(GivenBack { delivery, was_late });
        }
        let late = self
            .late
            .copies_of(&named.id)
            .filter(|it| it.matches(named));
        late.last().map(|delivery| GivenBack {
            delivery: delivery.clone(),
            was_late: true,
        })
    }

    /// A delivery whose time had passed is given back after all.
    pub(super) fn forget_late(&mut self, id: &str, seq: u64) {
        self.late.take_latest(id, |delivery| delivery.seq == seq);
    }

    fn take_in_flight(&mut self, named: &DeliverySelector, now: Tick) -> Option<Delivery<O>> {
        let (id, delivery) = self.in_flight.remove_entry(&named.id)?;
        if delivery.until > now && delivery.matches(named) {
            return Some(delivery);
        }
        let is_overdue = delivery.until <= now;
        if is_overdue && !self.may_scan() {
            self.add_late(&id, delivery);
            return None;
        }
        self.in_flight.insert(id, delivery);
        if is_overdue {
            // In the order in which their time has passed: the oldest ones are forgotten.
            self.prune(now);
        }
        None
    }

    /// Whether enough was delivered since the last scan of those in flight for another one.
    pub(super) fn may_scan(&self) -> bool {
        self.added * DELIVERIES_OF_SCAN >= self.in_flight.len()
    }

    /// Returns the delivery that a request names: the one in flight, or the latest of those whose time
    /// has passed.
    pub(super) fn find(&self, named: &DeliverySelector) -> Option<&Delivery<O>> {
        let in_flight = self.in_flight.get(&named.id);
        let in_flight = in_flight.filter(|delivery| delivery.matches(named));
        let late = || {
            self.late
                .copies_of(&named.id)
                .filter(|it| it.matches(named))
        };
        in_flight.or_else(|| late().last())
    }

    /// Returns the delivery in flight of an id.
    pub(super) fn get(&self, id: &str) -> Option<&Delivery<O>> {
        self.in_flight.get(id)
    }

    /// Returns the delivery in flight that a request names.
    pub(super) fn find_in_flight_mut(
        &mut self,
        named: &DeliverySelector,
    ) -> Option<&mut Delivery<O>> {
        let in_flight = self.in_flight.get_mut(&named.id);
        in_flight.filter(|delivery| delivery.matches(named))
    }

    /// The task of a revision was acknowledged through another copy. The scheduler can know that its
    /// round lasts longer than the front does.
    pub(super) fn lose(&mut self, id: &str, seq: u64) {
        match self.in_flight.get_mut(id).filter(|it| it.seq == seq) {
            Some(delivery) => delivery.is_lost = true,
            None => self.forget_late(id, seq),
        }
    }

    /// Removes the delivery in flight of an id, if it is of this revision and round. `None`: any
    /// round.
    pub(super) fn remove(
        &mut self,
        id: &str,
        seq: u64,
        attempt: Option<u32>,
    ) -> Option<Delivery<O>> {
        let delivery = self.in_flight.get(id).filter(|it| it.seq == seq)?;
        if attempt.is_some_and(|attempt| attempt != delivery.attempt) {
            return None;
        }
        self.in_flight.remove(id)
    }

    /// An answer may not have taken effect: it can be repeated.
    pub(super) fn put_back(&mut self, id: &Arc<str>, delivery: Delivery<O>) {
        self.add_late(id, delivery);
    }

    /// Returns the next delivery of an id that the connection can have now, which counts as in flight
    /// from now on. Those that are revoked are dropped.
    pub(super) fn release(&mut self, id: &Arc<str>) -> Option<Delivery<O>> {
        if self.in_flight.contains_key(id) {
            return None;
        }
        let queued = self.queued.get_mut(id)?;
        let next = loop {
            match queued.pop_front() {
                Some(next) if !next.origin.is_revoked() => break Some(next),
                Some(_) => {}
                None => break None,
            }
        };
        if queued.is_empty() {
            self.queued.remove(id);
        }
        let next = next?;
        self.in_flight.insert(id.clone(), next.clone());
        Some(next)
    }

    /// How many of those without an answer in their time are remembered.
    pub(super) const fn late_limit(&self) -> usize {
        self.late.limit()
    }

    /// Whether some wait for their ids.
    pub(super) fn has_queued(&self) -> bool {
        !self.queued.is_empty()
    }

    /// Returns when the time of a delivery passes for whose end others wait, or that of one which waits
    /// to be written.
    pub(super) fn next(&self) -> Option<Tick> {
        let waited = self.queued.keys().filter_map(|id| self.in_flight.get(id));
        let waited = waited.map(|delivery| delivery.until);
        let queued = self.queued.values().flatten();
        waited.chain(queued.map(|delivery| delivery.write_by)).min()
    }

    /// Returns the ids for which others wait, and whose time has passed, in order.
    pub(super) fn expire(&mut self, now: Tick) -> Vec<Arc<str>> {
        let waited = self.queued.keys();
        let overdue = waited.filter(|id| self.in_flight.get(*id).is_none_or(|it| it.until <= now));
        let mut overdue: Vec<Arc<str>> = overdue.cloned().collect();
        overdue.sort_unstable();
        for id in &overdue {
            self.move_to_late(id);
        }
        overdue
    }

    /// Moves those whose time has passed to the late ones.
    pub(super) fn prune(&mut self, now: Tick) {
        self.added = 0;
        let overdue = self.in_flight.iter().filter(|(_, it)| it.until <= now);
        let mut overdue: Vec<_> = overdue.map(|(id, it)| (it.until, id.clone())).collect();
        overdue.sort_unstable();
        for (_, id) in overdue {
            self.move_to_late(&id);
        }
    }

    /// Whether the connection can answer a delivery in time.
    pub(super) fn are_in_flight(&self, now: Tick) -> bool {
        let mut deliveries = self.in_flight.values();
        deliveries.any(|delivery| delivery.until > now)
    }

    /// The number of deliveries that count as in flight.
    pub(super) fn len(&self) -> usize {
        self.in_flight.len()
    }

    /// Removes and returns the deliveries of this kind whose turn has not come, in order of id.
    pub(super) fn take_queued(
        &mut self,
        is_it: impl Fn(&Delivery<O>) -> bool,
    ) -> Vec<(Arc<str>, Delivery<O>)> {
        let mut taken = Vec::new();
        for (id, queued) in &mut self.queued {
            if !queued.iter().any(&is_it) {
                continue;
            }
            let (of_kind, others): (VecDeque<_>, _) =
                std::mem::take(queued).into_iter().partition(&is_it);
            *queued = others;
            taken.extend(of_kind.into_iter().map(|it| (id.clone(), it)));
        }
        self.queued.retain(|_, queued| !queued.is_empty());
        taken.sort_by(|(one, _), (other, _)| one.cmp(other));
        taken
    }

    /// Returns the deliveries in flight of this kind, in order of id.
    pub(super) fn in_flight_mut(
        &mut self,
        is_it: impl Fn(&Delivery<O>) -> bool,
    ) -> Vec<(&Arc<str>, &mut Delivery<O>)> {
        let all = self.in_flight.iter_mut();
        let mut of_kind: Vec<_> = all.filter(|(_, delivery)| is_it(delivery)).collect();
        of_kind.sort_unstable_by_key(|(id, _)| *id);
        of_kind
    }

    /// Returns the number of deliveries in flight of this kind.
    pub(super) fn count(&self, is_it: impl Fn(&Delivery<O>) -> bool) -> usize {
        let all = self.in_flight.values();
        all.filter(|delivery| is_it(delivery)).count()
    }

    /// The time of a delivery has passed.
    fn move_to_late(&mut self, id: &Arc<str>) {
        if let Some(delivery) = self.in_flight.remove(id) {
            self.add_late(id, delivery);
        }
    }

    fn add_late(&mut self, id: &Arc<str>, delivery: Delivery<O>) {
        if !delivery.is_lost {
            self.late.add(id.clone(), delivery);
        }
    }
}

#[cfg(test)]
mod tests;
