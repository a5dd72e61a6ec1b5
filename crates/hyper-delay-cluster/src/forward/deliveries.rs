//! The deliveries of a connection that the client can still answer.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use race_wheel::Tick;

use super::wire::{ToLeader, UnsentDelivery, UnsentReason};
use crate::ShardId;
use hyper_delay_engine::{
    authority::Authority,
    ledger::TaskRevision,
    scheduler::{ConsumerId, LateCopies, UnansweredDelivery},
};
use hyper_delay_protocol::DeliverySelector;

/// A delivery to a client.
#[derive(Debug, Clone)]
pub(super) struct ServedDelivery {
    pub(super) shard: ShardId,
    pub(super) route: Arc<str>,
    pub(super) seq: u64,
    pub(super) attempt: u32,
    /// The leadership that counts it as in flight.
    pub(super) epoch: u64,
    /// The end of the time to answer on this node's clock, and on that of the leader.
    pub(super) until: Tick,
    pub(super) until_at_leader: Tick,
    /// From then on nothing of it is written.
    pub(super) write_by: Tick,
    /// When the task expires, on this node's clock.
    pub(super) expires: Option<Tick>,
    /// It may be written while this holds.
    pub(super) authority: Arc<Authority>,
}

impl ServedDelivery {
    /// Returns its full name.
    pub(super) fn named(&self, id: Arc<str>) -> DeliverySelector {
        DeliverySelector {
            id,
            route: Some(self.route.clone()),
            attempt: Some(self.attempt),
        }
    }

    /// Returns the round that it belongs to.
    pub(super) fn revision(&self, id: Arc<str>) -> TaskRevision {
        TaskRevision {
            route: self.route.clone(),
            id,
            seq: self.seq,
            attempt: self.attempt,
        }
    }

    /// Returns its report to another leader, or to the same one in a later session.
    pub(super) fn adopted(&self, id: &Arc<str>, now: Tick) -> UnansweredDelivery {
        UnansweredDelivery {
            route: self.route.clone(),
            id: id.clone(),
            seq: self.seq,
            attempt: self.attempt,
            left: Duration::from_nanos(self.until.since(now)),
        }
    }

    /// Returns the message to its leader if it was not passed to its connection, and will not be.
    pub(super) fn void_message(&self, consumer: ConsumerId, id: Arc<str>) -> ToLeader {
        let attempt = self.attempt;
        self.unsent_message(consumer, id, UnsentReason::Void { attempt })
    }

    /// Returns the message to its leader if it has waited for its turn too long.
    pub(super) fn unwritten_message(&self, consumer: ConsumerId, id: Arc<str>) -> ToLeader {
        let attempt = self.attempt;
        self.unsent_message(consumer, id, UnsentReason::Unwritten { attempt })
    }

    fn unsent_message(&self, consumer: ConsumerId, id: Arc<str>, why: UnsentReason) -> ToLeader {
        let seq = self.seq;
        ToLeader::NotSent(consumer, UnsentDelivery { seq, id, why })
    }

    /// Whether an answer that names its id names this delivery.
    fn matches(&self, named: &DeliverySelector) -> bool {
        let route = named.route.as_ref();
        route.is_none_or(|route| *route == self.route)
            && named.attempt.is_none_or(|attempt| attempt == self.attempt)
    }

    fn is_same_task(&self, other: &Self) -> bool {
        self.shard == other.shard && self.route == other.route
    }
}

/// See the [module](self). An id is delivered once at a time, so that an answer that names only the
/// id is exact.
#[derive(Debug)]
pub(super) struct ServedDeliveries {
    in_flight: BTreeMap<Arc<str>, ServedDelivery>,
    /// Those whose turn has not come: the client has another one with the same id.
    queued: BTreeMap<Arc<str>, VecDeque<ServedDelivery>>,
    /// Deliveries without an answer in their time.
    late: LateCopies<ServedDelivery>,
    /// Deliveries that were given back or not sent and whose leader may not know this, with
    /// the message to it, the latest last. As many as of the late ones are remembered.
    deferred: VecDeque<(Arc<str>, ServedDelivery, ToLeader)>,
}

impl ServedDeliveries {
    /// Those of a connection with that credit.
    pub(super) fn new(credit: u16) -> Self {
        Self {
            in_flight: BTreeMap::new(),
            queued: BTreeMap::new(),
            late: LateCopies::new(credit),
            deferred: VecDeque::new(),
        }
    }

    /// The connection has that credit from now on.
    pub(super) fn set_credit(&mut self, credit: u16) {
        self.late.raise_limit(credit);
    }

    /// Returns whether the client can still answer a delivery of an earlier revision that has the
    /// same name: a leader does not know the rounds of those that had no answer in their time.
    pub(super) fn has_namesake(&self, id: &str, delivered: &ServedDelivery) -> bool {
        let late = self.late.copies_of(id).chain(self.in_flight.get(id));
        let mut of_round =
            late.filter(|it| it.is_same_task(delivered) && it.attempt == delivered.attempt);
        of_round.any(|it| it.seq != delivered.seq)
    }

    /// Adds a delivery. Returns it if it is the client's turn; otherwise it is held.
    pub(super) fn add(
        &mut self,
        id: &Arc<str>,
        delivered: ServedDelivery,
        now: Tick,
    ) -> Option<ServedDelivery> {
        if let Some(before) = self.in_flight.get(id) {
            // The leader gives no second copy before the time of the first one has passed.
            let is_over = before.until <= now || before.is_same_task(&delivered);
            if !is_over {
                self.queued
                    .entry(id.clone())
                    .or_default()
                    .push_back(delivered);
                return None;
            }
            self.move_to_late(id);
        }
        self.in_flight.insert(id.clone(), delivered.clone());
        Some(delivered)
    }

    /// Removes and returns the delivery that an answer names: the one in flight, or the latest of
    /// those whose time has passed.
    pub(super) fn take_answered(&mut self, named: &DeliverySelector) -> Option<ServedDelivery> {
        if self.find(named).is_some() {
            return self.in_flight.remove(&named.id);
        }
        self.late
            .take_latest(&named.id, |delivered| delivered.matches(named))
    }

    /// Returns the delivery in flight that a request names.
    pub(super) fn find(&self, named: &DeliverySelector) -> Option<&ServedDelivery> {
        self.in_flight.get(&named.id).filter(|it| it.matches(named))
    }

    /// Returns the delivery in flight that a request names.
    pub(super) fn find_mut(&mut self, named: &DeliverySelector) -> Option<&mut ServedDelivery> {
        self.in_flight
            .get_mut(&named.id)
            .filter(|it| it.matches(named))
    }

    /// Returns the leadership that has sent the delivery in flight of an id.
    pub(super) fn authority(&self, id: &str) -> Option<&Arc<Authority>> {
        self.in_flight.get(id).map(|delivered| &delivered.authority)
    }

    /// Removes the delivery in flight of an id, if it is of this revision and round. `None`: any
    /// round.
    pub(super) fn remove(
        &mut self,
        id: &str,
        seq: u64,
        attempt: Option<u32>,
    ) -> Option<ServedDelivery> {
        let delivered = self.in_flight.get(id).filter(|it| it.seq == seq)?;
        if attempt.is_some_and(|attempt| attempt != delivered.attempt) {
            return None;
        }
        self.in_flight.remove(id)
    }

    /// An answer may not have taken effect: it can be repeated.
    pub(super) fn put_back(&mut self, id: Arc<str>, delivered: ServedDelivery) {
        self.late.add(id, delivered);
    }

    /// Returns the next delivery of an id that the client can have now, which counts as in flight
    /// from now on. Those of sessions that have ended are dropped.
    pub(super) fn release(&mut self, id: &Arc<str>) -> Option<ServedDelivery> {
        if self.in_flight.contains_key(id) {
            return None;
        }
        let queued = self.queued.get_mut(id)?;
        let next = loop {
            match queued.pop_front() {
                Some(next) if !next.authority.is_revoked() => break Some(next),
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

    /// Returns when the time of a delivery passes for whose end others wait, or that of one which waits
    /// to be written.
    pub(super) fn next(&self) -> Option<Tick> {
        let waited = self.queued.keys().filter_map(|id| self.in_flight.get(id));
        let waited = waited.map(|delivered| delivered.until);
        let queued = self.queued.values().flatten();
        waited
            .chain(queued.map(|delivered| delivered.write_by))
            .min()
    }

    /// Returns the ids for which others wait, and whose time has passed.
    pub(super) fn expire(&mut self, now: Tick) -> Vec<Arc<str>> {
        let waited = self.queued.keys();
        let overdue = waited.filter(|id| self.in_flight.get(*id).is_none_or(|it| it.until <= now));
        let overdue: Vec<Arc<str>> = overdue.cloned().collect();
        for id in &overdue {
            self.move_to_late(id);
        }
        overdue
    }

    /// Moves those whose time has passed to the late ones.
    pub(super) fn prune(&mut self, now: Tick) {
        let overdue = self.in_flight.iter().filter(|(_, it)| it.until <= now);
        let mut overdue: Vec<_> = overdue.map(|(id, it)| (it.until, id.clone())).collect();
        overdue.sort_unstable();
        for (_, id) in overdue {
            self.move_to_late(&id);
        }
    }

    /// Whether the client can answer a delivery in time.
    pub(super) fn are_in_flight(&self, now: Tick) -> bool {
        let mut deliveries = self.in_flight.values();
        deliveries.any(|delivered| delivered.until > now)
    }

    /// The number of deliveries that count as in flight.
    pub(super) fn len(&self) -> usize {
        self.in_flight.len()
    }

    /// Keeps the outcome of a delivery for its leader, which cannot be reached now.
    pub(super) fn defer(&mut self, id: &Arc<str>, delivered: ServedDelivery, message: ToLeader) {
        if self.deferred.len() == self.late.limit() {
            self.deferred.pop_front();
        }
        self.deferred.push_back((id.clone(), delivered, message));
    }

    /// Removes and returns the deliveries of this kind whose turn has not come.
    pub(super) fn take_queued(
        &mut self,
        is_it: impl Fn(&ServedDelivery) -> bool,
    ) -> Vec<(Arc<str>, ServedDelivery)> {
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
        taken
    }

    /// There is a session with a leadership: removes and returns messages that it, or another
    /// leadership of the shard, did not get. Those that only concern the other one are dropped.
    pub(super) fn take_deferred(
        &mut self,
        shard: ShardId,
        epoch: u64,
    ) -> Vec<(Arc<str>, ServedDelivery, ToLeader)> {
        let of_shard = |(_, delivered, _): &(_, ServedDelivery, _)| delivered.shard == shard;
        let (of_shard, others): (VecDeque<_>, _) = std::mem::take(&mut self.deferred)
            .into_iter()
            .partition(of_shard);
        self.deferred = others;
        let concerns_it = |(_, delivered, message): &(_, ServedDelivery, ToLeader)| {
            delivered.epoch == epoch || matches!(message, ToLeader::Nacked { .. })
        };
        of_shard.into_iter().filter(concerns_it).collect()
    }

    /// Returns the deliveries in flight of a shard.
    pub(super) fn in_flight_of_shard(
        &mut self,
        shard: ShardId,
    ) -> impl Iterator<Item = (&Arc<str>, &mut ServedDelivery)> {
        let all = self.in_flight.iter_mut();
        all.filter(move |(_, delivered)| delivered.shard == shard)
    }

    fn move_to_late(&mut self, id: &Arc<str>) {
        if let Some(delivered) = self.in_flight.remove(id) {
            self.late.add(id.clone(), delivered);
        }
    }
}
