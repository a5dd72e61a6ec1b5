mod closed;

use std::{
    collections::{BTreeSet, hash_map::Entry},
    sync::Arc,
};

use race_wheel::{Key, Tick};
use rustc_hash::FxHashMap;

pub(super) use closed::{ClosedConsumer, TimeoutEffect};

use super::{lent_credit::LentCredit, route_queue::RouteQueue};
use crate::{late_copies::LateCopies, ledger::TaskRevision};

/// A connection, as a consumer of routes.
#[derive(Debug)]
pub(super) struct Consumer {
    /// The routes it has registered.
    routes: BTreeSet<Arc<str>>,
    /// The number of copies it may have in flight, which is what it is lent.
    credit: u16,
    lending: LentCredit,
    /// Its copies by revision: those in flight, and the lost ones.
    copies: FxHashMap<u64, DeliveryCopy>,
    /// The number of copies in flight.
    in_flight: usize,
    /// Copies it left unanswered.
    late: LateCopies<DeliveryCopy>,
    /// It left a copy unanswered, and has answered nothing since: chosen last until this moment.
    suspect_until: Option<Tick>,
    /// The routes that have something for it, in the order in which they are served when it has
    /// room.
    waiting: RouteQueue,
}

/// A copy of a task that was delivered to a connection.
#[derive(Debug, Clone)]
pub(super) struct DeliveryCopy {
    pub(super) route: Arc<str>,
    pub(super) id: Arc<str>,
    pub(super) seq: u64,
    pub(super) attempt: u32,
    /// The timer of the end of the time to answer, if no round waits for the answer.
    pub(super) end: Option<Key>,
    /// The task was acknowledged through another copy. This one takes no credit, and its answer is
    /// ignored. Until the answer comes, or the round would have ended, the consumer receives no other
    /// copy of the id.
    pub(super) is_lost: bool,
}

/// A copy that a connection acknowledges.
#[derive(Debug)]
pub(super) enum AckedCopy {
    /// It was in flight.
    InFlight(DeliveryCopy),
    /// The task was acknowledged through another copy.
    Lost(DeliveryCopy),
    /// Its time to answer was over.
    Late,
}

impl DeliveryCopy {
    /// A copy in flight.
    pub(super) const fn new(route: Arc<str>, id: Arc<str>, seq: u64, attempt: u32) -> Self {
        Self {
            route,
            id,
            seq,
            attempt,
            end: None,
            is_lost: false,
        }
    }

    /// Whether this is the same copy: of the same task, revision and round.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.seq, self.attempt) == (other.seq, other.attempt)
            && is_same(&self.id, &other.id)
            && is_same(&self.route, &other.route)
    }

    /// Whether it is of this revision and round.
    pub(super) fn is_of(&self, revision: &TaskRevision) -> bool {
        (self.seq, self.attempt) == (revision.seq, revision.attempt)
            && is_same(&self.id, &revision.id)
            && is_same(&self.route, &revision.route)
    }
}

/// In a single server, most names are the same string.
fn is_same(one: &Arc<str>, other: &Arc<str>) -> bool {
    Arc::ptr_eq(one, other) || one == other
}

impl Consumer {
    /// A connection that is lent its credit later.
    pub(super) fn new() -> Self {
        Self {
            routes: BTreeSet::new(),
            credit: 0,
            lending: LentCredit::default(),
            copies: FxHashMap::default(),
            in_flight: 0,
            late: LateCopies::new(0),
            suspect_until: None,
            waiting: RouteQueue::default(),
        }
    }

    /// It is about to close and takes no further copies.
    pub(super) fn stop_deliveries(&mut self) {
        self.credit = 0;
        self.lending.close();
    }

    /// Whether it is about to close.
    #[cfg(test)]
    pub(super) const fn is_closing(&self) -> bool {
        self.lending.is_closing()
    }

    /// Changes the credit that it is lent. Returns how much of it is returned.
    pub(super) fn change_loan(&mut self, change: impl FnOnce(&mut LentCredit)) -> u16 {
        change(&mut self.lending);
        let returned = self.lending.return_unused(self.in_flight);
        self.credit = self.lending.credit();
        self.late.raise_limit(self.credit);
        returned
    }

    /// Whether credit is recalled that is not returned yet.
    pub(super) const fn owes_credit(&self) -> bool {
        self.lending.owes()
    }

    /// A task waits for it. Returns whether to request more credit.
    pub(super) fn request_credit(&mut self) -> bool {
        !self.has_room() && self.lending.request_more()
    }

    /// Whether it has no room, and has not asked for more credit.
    pub(super) fn may_request_credit(&self) -> bool {
        self.lending.may_request() && !self.has_room()
    }

    /// Whether nothing waits for it any more, and it has asked for more credit since the last loan.
    /// True once.
    pub(super) fn withdraw_credit_request(&mut self) -> bool {
        self.waiting.is_empty() && self.has_room() && self.lending.withdraw_request()
    }

    pub(super) fn add_route(&mut self, route: &Arc<str>) {
        self.routes.insert(route.clone());
    }

    /// Returns whether it had registered the route.
    pub(super) fn remove_route(&mut self, route: &str) -> bool {
        self.routes.remove(route)
    }

    pub(super) fn has_route(&self, route: &str) -> bool {
        self.routes.contains(route)
    }

    /// The routes it has registered, in order of name.
    #[cfg(test)]
    pub(super) fn routes(&self) -> impl Iterator<Item = &Arc<str>> {
        self.routes.iter()
    }

    /// The number of copies that it may have in flight.
    #[cfg(test)]
    pub(super) const fn credit(&self) -> u16 {
        self.credit
    }

    /// Queues a route that has tasks for this consumer, which has no room.
    pub(super) fn queue_route(&mut self, route: &Arc<str>) {
        self.waiting.push(route);
    }

    /// The first route that waits for it to have room.
    pub(super) fn first_waiting(&self) -> Option<&Arc<str>> {
        self.waiting.first()
    }

    /// The first route that waits does so no longer.
    pub(super) fn drop_first_waiting(&mut self) {
        self.waiting.pop();
    }

    /// The number of routes that wait for it to have room.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The next route that waits, if the connection has room.
    pub(super) fn next_waiting(&mut self) -> Option<Arc<str>> {
        match self.has_room() {
            true => self.waiting.pop(),
            false => None,
        }
    }

    /// Whether it has no copy, in flight or lost.
    pub(super) fn has_no_copy(&self) -> bool {
        self.copies.is_empty()
    }

    /// The number of copies in flight.
    pub(super) const fn load(&self) -> usize {
        self.in_flight
    }

    pub(super) fn has_room(&self) -> bool {
        self.in_flight < usize::from(self.credit)
    }

    /// It is chosen last until then, or until it answers.
    pub(super) const fn suspect_until(&mut self, until: Tick) {
        self.suspect_until = Some(until);
    }

    /// Whether it is chosen last, because it left a copy unanswered.
    pub(super) fn is_suspect(&self, now: Tick) -> bool {
        self.suspect_until.is_some_and(|until| now < until)
    }

    /// The latest round of a task, over all revisions, of which it left a copy unanswered.
    pub(super) fn late_attempt(&self, route: &str, id: &str) -> Option<u32> {
        let late = self.late.copies_of(id).filter(|copy| *copy.route == *route);
        late.map(|copy| copy.attempt).max()
    }

    /// Adds a copy in flight. Returns false if it has another one of that revision.
    pub(super) fn add_copy(&mut self, copy: DeliveryCopy) -> bool {
        match self.copies.entry(copy.seq) {
            Entry::Vacant(free) => {
                self.in_flight += usize::from(!copy.is_lost);
                free.insert(copy);
                true
            }
            Entry::Occupied(_) => false,
        }
    }

    /// Returns a copy in flight.
    pub(super) fn in_flight_copy(&self, seq: u64) -> Option<&DeliveryCopy> {
        self.copies.get(&seq).filter(|copy| !copy.is_lost)
    }

    /// Returns a copy, in flight or lost.
    pub(super) fn copy(&self, seq: u64) -> Option<&DeliveryCopy> {
        self.copies.get(&seq)
    }

    /// The same, to change its timer.
    pub(super) fn copy_timer_mut(&mut self, seq: u64) -> Option<&mut Option<Key>> {
        self.copies.get_mut(&seq).map(|copy| &mut copy.end)
    }

    /// Removes and returns a copy, if it is the one.
    pub(super) fn take_copy(
        &mut self,
        seq: u64,
        is_it: impl FnOnce(&DeliveryCopy) -> bool,
    ) -> Option<DeliveryCopy> {
        let Entry::Occupied(copy) = self.copies.entry(seq) else {
            return None;
        };
        if !is_it(copy.get()) {
            return None;
        }
        let copy = copy.remove();
        self.in_flight -= usize::from(!copy.is_lost);
        Some(copy)
    }

    /// It answers a delivery.
    pub(super) const fn has_answered(&mut self) {
        self.suspect_until = None;
    }

    /// Removes and returns the unanswered copy of this revision and round, if it was late.
    pub(super) fn take_late(&mut self, revision: &TaskRevision) -> Option<DeliveryCopy> {
        self.late
            .take_latest(&revision.id, |copy| copy.is_of(revision))
    }

    /// The task was acknowledged through another copy: the credit returns. Returns the id of the task
    /// if it has such a copy in flight.
    pub(super) fn mark_lost(&mut self, seq: u64) -> Option<Arc<str>> {
        let copy = self.copies.get_mut(&seq).filter(|copy| !copy.is_lost)?;
        copy.is_lost = true;
        self.in_flight -= 1;
        Some(copy.id.clone())
    }

    /// Adds an unanswered copy. Returns the revision of the one that is forgotten for it.
    pub(super) fn add_late(&mut self, copy: DeliveryCopy) -> Option<u64> {
        let forgotten = self.late.add(copy.id.clone(), copy);
        forgotten.map(|forgotten| forgotten.seq)
    }

    /// The copies in flight.
    pub(super) fn in_flight(&self) -> impl Iterator<Item = &DeliveryCopy> {
        self.copies.values().filter(|copy| !copy.is_lost)
    }

    /// The copies in flight and the lost ones.
    #[cfg(test)]
    pub(super) fn unanswered(&self) -> impl Iterator<Item = &DeliveryCopy> {
        self.copies.values()
    }

    /// Ends the connection: returns what it held.
    pub(super) fn into_parts(self) -> ClosedConsumer {
        let mut unanswered: Vec<_> = self.copies.into_values().collect();
        // In an order that a simulation can repeat.
        unanswered.sort_unstable_by_key(|copy| copy.seq);
        ClosedConsumer {
            routes: self.routes,
            unanswered,
            late: self.late.into_copies().map(|copy| copy.seq).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
