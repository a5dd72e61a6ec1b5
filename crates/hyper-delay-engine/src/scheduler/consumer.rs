mod closed;

use std::{
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
    sync::Arc,
};

use race_wheel::{Key, Tick};

pub(super) use closed::{ClosedConsumer, TimeoutEffect};

use super::{late_copies::LateCopies, lent_credit::LentCredit};
use crate::scheduler::own_registration::OwnRegistration;
use hyper_delay_protocol::{Accept, DeliverySelector};

/// A connection, as the scheduler sees it.
#[derive(Debug)]
pub(super) struct Consumer {
    /// The routes it has registered.
    routes: BTreeSet<Arc<str>>,
    /// The route the server made for it, because it scheduled without one.
    pub(super) own: OwnRegistration,
    /// The number of copies it may have in flight.
    credit: u16,
    /// The loan that the credit is made of, if it is lent to the connection piece by piece.
    lending: Option<Box<LentCredit>>,
    /// The compressions that it accepts.
    accept: Accept,
    /// The copies in flight, by id: one copy of an id at a time, so that an answer that names only
    /// the id is exact.
    in_flight: HashMap<Arc<str>, DeliveryCopy>,
    /// Copies of tasks that were acknowledged through another copy. They take no credit, and their
    /// answers are ignored. Until the answer comes, or the round would have ended, the consumer
    /// receives no other copy of the id.
    lost: HashMap<Arc<str>, DeliveryCopy>,
    /// Copies it left unanswered.
    late: LateCopies<DeliveryCopy>,
    /// It left a copy unanswered, and has answered nothing since: chosen last until this moment.
    suspect_until: Option<Tick>,
    /// The routes that have something for it, in the order in which they are served when it has
    /// room.
    waiting: VecDeque<Arc<str>>,
    is_waiting: HashSet<Arc<str>>,
}

/// A copy of a task that was delivered to a connection.
#[derive(Debug, Clone)]
pub(super) struct DeliveryCopy {
    pub(super) route: Arc<str>,
    pub(super) seq: u64,
    pub(super) attempt: u32,
    /// The timer of the end of the time to answer, if no round waits for the answer.
    pub(super) end: Option<Key>,
}

impl DeliveryCopy {
    /// Whether an answer that names its id names this copy.
    pub(super) fn matches_answer(&self, named: &DeliverySelector) -> bool {
        let route = named.route.as_ref();
        route.is_none_or(|route| *route == self.route)
            && named.attempt.is_none_or(|attempt| attempt == self.attempt)
    }

    /// Whether this is the same copy: of the same revision, route and round.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.seq, self.attempt) == (other.seq, other.attempt) && self.route == other.route
    }
}

impl Consumer {
    /// A connection with that credit. One with none is lent its credit later.
    pub(super) fn new(credit: u16) -> Self {
        Self {
            lending: (credit == 0).then(Box::default),
            routes: BTreeSet::new(),
            own: OwnRegistration::default(),
            credit,
            accept: Accept::default(),
            in_flight: HashMap::new(),
            lost: HashMap::new(),
            late: LateCopies::new(credit),
            suspect_until: None,
            waiting: VecDeque::new(),
            is_waiting: HashSet::new(),
        }
    }

    pub(super) const fn credit(&self) -> u16 {
        self.credit
    }

    pub(super) fn set_credit(&mut self, credit: u16) {
        self.lending = None;
        self.credit = credit;
        self.late.raise_limit(credit);
    }

    /// It is about to close and takes no further copies.
    pub(super) fn stop_deliveries(&mut self) {
        self.credit = 0;
        if let Some(lending) = &mut self.lending {
            lending.close();
        }
    }

    /// Whether it is lent its credit piece by piece.
    pub(super) const fn is_lent(&self) -> bool {
        self.lending.is_some()
    }

    /// Whether it is lent credit and is about to close.
    #[cfg(test)]
    pub(super) fn is_closing(&self) -> bool {
        let lending = self.lending.as_ref();
        lending.is_some_and(|lending| lending.is_closing())
    }

    /// Changes the credit that it is lent. Returns how much of it is returned.
    pub(super) fn change_loan(&mut self, change: impl FnOnce(&mut LentCredit)) -> u16 {
        let Some(lending) = &mut self.lending else {
            return 0;
        };
        change(lending);
        let returned = lending.return_unused(self.in_flight.len());
        self.credit = lending.credit();
        self.late.raise_limit(self.credit);
        returned
    }

    /// A task waits for it. Returns whether to request more credit.
    pub(super) fn request_credit(&mut self) -> bool {
        let has_room = self.has_room();
        let lending = self.lending.as_mut();
        lending.is_some_and(|lending| !has_room && lending.request_more())
    }

    /// Whether it has no room, is lent credit, and has not asked for more.
    pub(super) fn may_request_credit(&self) -> bool {
        let lending = self.lending.as_ref();
        lending.is_some_and(|lending| lending.may_request()) && !self.has_room()
    }

    /// Whether nothing waits for it any more, and it has asked for more credit since the last loan.
    /// True once.
    pub(super) fn withdraw_credit_request(&mut self) -> bool {
        let is_sated = self.waiting.is_empty() && self.has_room();
        let lending = self.lending.as_mut().filter(|_| is_sated);
        lending.is_some_and(|lending| lending.withdraw_request())
    }

    pub(super) const fn accept(&self) -> Accept {
        self.accept
    }

    pub(super) const fn set_accept(&mut self, accept: Accept) {
        self.accept = accept;
    }

    pub(super) fn add_route(&mut self, route: &Arc<str>) {
        self.routes.insert(route.clone());
    }

    /// Returns whether it had registered the route.
    pub(super) fn remove_route(&mut self, route: &str) -> bool {
        if self.own.is_named(route) {
            self.own.release();
        }
        self.routes.remove(route)
    }

    pub(super) fn has_route(&self, route: &str) -> bool {
        self.routes.contains(route)
    }

    /// The number of routes it has registered.
    pub(super) fn routes(&self) -> usize {
        self.routes.len()
    }

    /// The only route it has registered, if it has exactly one.
    pub(super) fn only_route(&self) -> Option<&Arc<str>> {
        self.routes.first().filter(|_| self.routes.len() == 1)
    }

    /// Queues a route that has tasks for this consumer, which has no room.
    pub(super) fn queue_route(&mut self, route: &Arc<str>) {
        if !self.is_waiting.contains(route) {
            self.is_waiting.insert(route.clone());
            self.waiting.push_back(route.clone());
        }
    }

    /// The first route that waits for it to have room.
    pub(super) fn first_waiting(&self) -> Option<&Arc<str>> {
        self.waiting.front()
    }

    /// The first route that waits does so no longer.
    pub(super) fn drop_first_waiting(&mut self) {
        if let Some(route) = self.waiting.pop_front() {
            self.is_waiting.remove(&route);
        }
    }

    /// The number of routes that wait for it to have room.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The next route that waits, if the connection has room.
    pub(super) fn next_waiting(&mut self) -> Option<Arc<str>> {
        if !self.has_room() {
            return None;
        }
        let route = self.waiting.pop_front()?;
        self.is_waiting.remove(&route);
        Some(route)
    }

    /// Whether it has registered nothing and has no copy that it could answer in time.
    pub(super) fn is_idle(&self) -> bool {
        self.routes.is_empty() && self.in_flight.is_empty() && self.lost.is_empty()
    }

    /// The number of copies in flight.
    pub(super) fn load(&self) -> usize {
        self.in_flight.len()
    }

    pub(super) fn has_room(&self) -> bool {
        self.in_flight.len() < usize::from(self.credit)
    }

    /// Whether it has a copy of a task with that id, on any route.
    pub(super) fn holds_id(&self, id: &str) -> bool {
        self.in_flight.contains_key(id) || !self.lost.is_empty() && self.lost.contains_key(id)
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

    /// Adds a copy in flight.
    pub(super) fn add_copy(&mut self, id: Arc<str>, copy: DeliveryCopy) {
        let before = self.in_flight.insert(id, copy);
        debug_assert!(before.is_none(), "one copy of an id at a time");
    }

    /// Returns the copy in flight that a request names.
    pub(super) fn in_flight_of(&self, named: &DeliverySelector) -> Option<&DeliveryCopy> {
        let copy = self.in_flight.get(&named.id);
        copy.filter(|copy| copy.matches_answer(named))
    }

    /// Removes and returns the copy in flight that an answer names.
    pub(super) fn take_answered(&mut self, named: &DeliverySelector) -> Option<DeliveryCopy> {
        self.suspect_until = None;
        self.in_flight_of(named)?;
        self.in_flight.remove(&named.id)
    }

    /// Removes and returns the unanswered copy that a late answer names.
    pub(super) fn take_late_answered(&mut self, named: &DeliverySelector) -> Option<DeliveryCopy> {
        self.late
            .take_latest(&named.id, |copy| copy.matches_answer(named))
    }

    /// Removes and returns the lost copy that an answer names.
    pub(super) fn take_lost_answered(&mut self, named: &DeliverySelector) -> Option<DeliveryCopy> {
        self.lost
            .get(&named.id)
            .filter(|copy| copy.matches_answer(named))?;
        self.lost.remove(&named.id)
    }

    /// Removes and returns a copy that was not sent, in this round or in any.
    pub(super) fn take_unsent(
        &mut self,
        id: &str,
        seq: u64,
        attempt: Option<u32>,
    ) -> Option<DeliveryCopy> {
        let is_this = |copy: &&DeliveryCopy| {
            copy.seq == seq && attempt.is_none_or(|attempt| attempt == copy.attempt)
        };
        let copies = [&mut self.in_flight, &mut self.lost];
        copies.into_iter().find_map(|copies| {
            copies.get(id).filter(is_this)?;
            copies.remove(id)
        })
    }

    /// No round waits for its copy any more; it has until `end` to answer. Returns false if it has
    /// no such copy.
    pub(super) fn set_copy_timer(&mut self, id: &str, seq: u64, end: Key) -> bool {
        let copies = [&mut self.in_flight, &mut self.lost];
        let mut copies = copies.into_iter().filter_map(|copies| copies.get_mut(id));
        match copies.find(|copy| copy.seq == seq) {
            Some(copy) => {
                copy.end = Some(end);
                true
            }
            None => false,
        }
    }

    /// The task was acknowledged through another copy: the credit returns. Returns false if it has
    /// no such copy in flight.
    pub(super) fn mark_lost(&mut self, id: &str, seq: u64) -> bool {
        let copy = self.in_flight.get(id).filter(|copy| copy.seq == seq);
        if copy.is_some()
            && let Some((id, copy)) = self.in_flight.remove_entry(id)
        {
            self.lost.insert(id, copy);
            return true;
        }
        false
    }

    /// The time to answer a copy is over. Returns what that means for it.
    pub(super) fn time_out(&mut self, id: &str, seq: u64, suspect_until: Tick) -> TimeoutEffect {
        let is_this = |copy: &&DeliveryCopy| copy.seq == seq;
        if self.lost.get(id).filter(is_this).is_some() {
            self.lost.remove(id);
            return TimeoutEffect::Freed;
        }
        if self.in_flight.get(id).filter(is_this).is_none() {
            return TimeoutEffect::Nothing;
        }
        let Some((id, copy)) = self.in_flight.remove_entry(id) else {
            return TimeoutEffect::Nothing;
        };
        self.suspect_until(suspect_until);
        let forgotten = self.add_late(id, DeliveryCopy { end: None, ..copy });
        TimeoutEffect::Late { forgotten }
    }

    /// Whether it has this copy in flight.
    pub(super) fn has_in_flight(&self, id: &str, seq: u64) -> bool {
        let copy = self.in_flight.get(id);
        copy.is_some_and(|copy| copy.seq == seq)
    }

    /// Whether it has this copy, in flight or lost, and no round waits for the answer.
    pub(super) fn has_copy_timer(&self, id: &str, seq: u64) -> bool {
        let copies = [&self.in_flight, &self.lost];
        let mut copies = copies.into_iter().filter_map(|copies| copies.get(id));
        copies.any(|copy| copy.seq == seq && copy.end.is_some())
    }

    /// A round waits for its copy from now on. Returns the timer of the copy.
    pub(super) fn take_copy_timer(&mut self, id: &str, seq: u64) -> Option<Key> {
        let copy = self.in_flight.get_mut(id);
        copy.filter(|copy| copy.seq == seq)?.end.take()
    }

    /// Whether it has this copy, in flight or lost.
    pub(super) fn has_copy(&self, id: &str, this: &DeliveryCopy) -> bool {
        let copies = [&self.in_flight, &self.lost];
        let mut copies = copies.into_iter().filter_map(|copies| copies.get(id));
        copies.any(|copy| copy.is_same(this))
    }

    /// Removes and returns this copy, which it left unanswered.
    pub(super) fn take_late(&mut self, id: &str, this: &DeliveryCopy) -> Option<DeliveryCopy> {
        self.suspect_until = None;
        self.late.take_latest(id, |copy| copy.is_same(this))
    }

    /// Adds an unanswered copy. Returns the revision of the one that is forgotten for it.
    pub(super) fn add_late(&mut self, id: Arc<str>, copy: DeliveryCopy) -> Option<u64> {
        self.late.add(id, copy).map(|forgotten| forgotten.seq)
    }

    /// The copies in flight.
    pub(super) fn in_flight(&self) -> impl Iterator<Item = (&Arc<str>, &DeliveryCopy)> {
        self.in_flight.iter()
    }

    /// The copies in flight and the lost ones.
    #[cfg(test)]
    pub(super) fn unanswered(&self) -> impl Iterator<Item = (&Arc<str>, &DeliveryCopy)> {
        self.in_flight.iter().chain(&self.lost)
    }

    /// Ends the connection: returns what it held.
    pub(super) fn into_parts(self) -> ClosedConsumer {
        let mut unanswered: Vec<_> = self.in_flight.into_iter().chain(self.lost).collect();
        // In an order that a simulation can repeat.
        unanswered.sort_unstable_by_key(|(_, copy)| copy.seq);
        ClosedConsumer {
            routes: self.routes,
            unanswered,
            late: self.late.into_copies().map(|copy| copy.seq).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
