//! The deliveries of a connection that the client can still answer.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use race_wheel::Tick;

use super::wire::{NotSent, ToLeader, Why};
use crate::ShardId;
use hyper_delay_engine::{
    authority::Authority,
    ledger::Subject,
    scheduler::{Adopted, ConsumerId, LateCopies},
};
use hyper_delay_protocol::Named;

/// A delivery to a client.
#[derive(Debug, Clone)]
pub(super) struct Delivered {
    pub(super) shard: ShardId,
    pub(super) route: Arc<str>,
    pub(super) seq: u64,
    pub(super) attempt: u32,
    /// The leadership that counts it as in flight.
    pub(super) epoch: u64,
    /// The end of the time to answer on this node's clock, and on that of the leader.
    pub(super) until: Tick,
    pub(super) until_there: Tick,
    /// From then on nothing of it is written.
    pub(super) write_by: Tick,
    /// When the task expires, on this node's clock.
    pub(super) expires: Option<Tick>,
    /// It may be written while this holds.
    pub(super) authority: Arc<Authority>,
}

impl Delivered {
    /// Returns its full name.
    pub(super) fn named(&self, id: Arc<str>) -> Named {
        Named {
            id,
            route: Some(self.route.clone()),
            attempt: Some(self.attempt),
        }
    }

    /// Returns the round that it belongs to.
    pub(super) fn subject(&self, id: Arc<str>) -> Subject {
        Subject {
            route: self.route.clone(),
            id,
            seq: self.seq,
            attempt: self.attempt,
        }
    }

    /// Returns what another leader, or the same one after a while, is told of it.
    pub(super) fn adopted(&self, id: &Arc<str>, now: Tick) -> Adopted {
        Adopted {
            route: self.route.clone(),
            id: id.clone(),
            seq: self.seq,
            attempt: self.attempt,
            left: Duration::from_nanos(self.until.since(now)),
        }
    }

    /// Returns what its leader is told if it was not passed to its connection, and will not be.
    pub(super) fn was_void(&self, consumer: ConsumerId, id: Arc<str>) -> ToLeader {
        let attempt = self.attempt;
        self.was_not_sent(consumer, id, Why::Void { attempt })
    }

    /// Returns the message to its leader if it has waited for its turn too long.
    pub(super) fn was_unwritten(&self, consumer: ConsumerId, id: Arc<str>) -> ToLeader {
        let attempt = self.attempt;
        self.was_not_sent(consumer, id, Why::Unwritten { attempt })
    }

    fn was_not_sent(&self, consumer: ConsumerId, id: Arc<str>, why: Why) -> ToLeader {
        let seq = self.seq;
        ToLeader::NotSent(consumer, NotSent { seq, id, why })
    }

    /// Whether an answer that names its id names this delivery.
    fn is(&self, named: &Named) -> bool {
        let route = named.route.as_ref();
        route.is_none_or(|route| *route == self.route)
            && named.attempt.is_none_or(|attempt| attempt == self.attempt)
    }

    fn is_of(&self, other: &Self) -> bool {
        self.shard == other.shard && self.route == other.route
    }
}

/// See the [module](self). An id is delivered once at a time, so that an answer that names only the
/// id is exact.
#[derive(Debug)]
pub(super) struct Deliveries {
    in_flight: BTreeMap<Arc<str>, Delivered>,
    /// Those whose turn has not come: the client has another one with the same id.
    held: BTreeMap<Arc<str>, VecDeque<Delivered>>,
    /// Deliveries without an answer in their time.
    late: LateCopies<Delivered>,
    /// Deliveries that were given back or not sent and whose leader may not have been told so, and
    /// what it is to be told, the latest last. As many as of the late ones are remembered.
    unsaid: VecDeque<(Arc<str>, Delivered, ToLeader)>,
}

impl Deliveries {
    /// Those of a connection with that credit.
    pub(super) fn new(credit: u16) -> Self {
        Self {
            in_flight: BTreeMap::new(),
            held: BTreeMap::new(),
            late: LateCopies::new(credit),
            unsaid: VecDeque::new(),
        }
    }

    /// The connection has that credit from now on.
    pub(super) fn set_credit(&mut self, credit: u16) {
        self.late.raise_limit(credit);
    }

    /// Returns whether the client can still answer a delivery of an earlier revision that has the
    /// same name: a leader does not know the rounds of those that had no answer in their time.
    pub(super) fn has_namesake(&self, id: &str, delivered: &Delivered) -> bool {
        let late = self.late.of(id).chain(self.in_flight.get(id));
        let mut of_round = late.filter(|it| it.is_of(delivered) && it.attempt == delivered.attempt);
        of_round.any(|it| it.seq != delivered.seq)
    }

    /// Adds a delivery. Returns it if it is the client's turn; otherwise it is held.
    pub(super) fn add(
        &mut self,
        id: &Arc<str>,
        delivered: Delivered,
        now: Tick,
    ) -> Option<Delivered> {
        if let Some(before) = self.in_flight.get(id) {
            // The leader gives no second copy before the time of the first one has passed.
            let is_over = before.until <= now || before.is_of(&delivered);
            if !is_over {
                self.held
                    .entry(id.clone())
                    .or_default()
                    .push_back(delivered);
                return None;
            }
            self.overdue(id);
        }
        self.in_flight.insert(id.clone(), delivered.clone());
        Some(delivered)
    }

    /// Removes and returns the delivery that an answer names: the one in flight, or the latest of
    /// those whose time has passed.
    pub(super) fn answered(&mut self, named: &Named) -> Option<Delivered> {
        if self.named(named).is_some() {
            return self.in_flight.remove(&named.id);
        }
        self.late.take(&named.id, |delivered| delivered.is(named))
    }

    /// Returns the delivery in flight that a request names.
    pub(super) fn named(&self, named: &Named) -> Option<&Delivered> {
        self.in_flight.get(&named.id).filter(|it| it.is(named))
    }

    /// Returns the delivery in flight that a request names.
    pub(super) fn named_mut(&mut self, named: &Named) -> Option<&mut Delivered> {
        self.in_flight.get_mut(&named.id).filter(|it| it.is(named))
    }

    /// Returns the leadership that has sent the delivery in flight of an id.
    pub(super) fn authority(&self, id: &str) -> Option<&Arc<Authority>> {
        self.in_flight.get(id).map(|delivered| &delivered.authority)
    }

    /// Removes the delivery in flight of an id, if it is of this revision and round. `None`: any
    /// round.
    pub(super) fn remove(&mut self, id: &str, seq: u64, attempt: Option<u32>) -> Option<Delivered> {
        let delivered = self.in_flight.get(id).filter(|it| it.seq == seq)?;
        if attempt.is_some_and(|attempt| attempt != delivered.attempt) {
            return None;
        }
        self.in_flight.remove(id)
    }

    /// An answer may not have taken effect: it can be repeated.
    pub(super) fn unanswered(&mut self, id: Arc<str>, delivered: Delivered) {
        self.late.add(id, delivered);
    }

    /// Returns the next delivery of an id that the client can have now, which counts as in flight
    /// from now on. Those of sessions that have ended are dropped.
    pub(super) fn release(&mut self, id: &Arc<str>) -> Option<Delivered> {
        if self.in_flight.contains_key(id) {
            return None;
        }
        let held = self.held.get_mut(id)?;
        let next = loop {
            match held.pop_front() {
                Some(next) if !next.authority.is_revoked() => break Some(next),
                Some(_) => {}
                None => break None,
            }
        };
        if held.is_empty() {
            self.held.remove(id);
        }
        let next = next?;
        self.in_flight.insert(id.clone(), next.clone());
        Some(next)
    }

    /// Returns when the time of a delivery passes for whose end others wait, or that of one which waits
    /// to be written.
    pub(super) fn next(&self) -> Option<Tick> {
        let waited = self.held.keys().filter_map(|id| self.in_flight.get(id));
        let waited = waited.map(|delivered| delivered.until);
        let held = self.held.values().flatten();
        waited.chain(held.map(|delivered| delivered.write_by)).min()
    }

    /// Returns the ids for which others wait, and whose time has passed.
    pub(super) fn expire(&mut self, now: Tick) -> Vec<Arc<str>> {
        let waited = self.held.keys();
        let over = waited.filter(|id| self.in_flight.get(*id).is_none_or(|it| it.until <= now));
        let over: Vec<Arc<str>> = over.cloned().collect();
        for id in &over {
            self.overdue(id);
        }
        over
    }

    /// Moves those whose time has passed to the late ones.
    pub(super) fn prune(&mut self, now: Tick) {
        let over = self.in_flight.iter().filter(|(_, it)| it.until <= now);
        let mut over: Vec<_> = over.map(|(id, it)| (it.until, id.clone())).collect();
        over.sort_unstable();
        for (_, id) in over {
            self.overdue(&id);
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

    /// The leader of a delivery cannot be told what has become of it now.
    pub(super) fn cannot_say(&mut self, id: &Arc<str>, delivered: Delivered, message: ToLeader) {
        if self.unsaid.len() == self.late.limit() {
            self.unsaid.pop_front();
        }
        self.unsaid.push_back((id.clone(), delivered, message));
    }

    /// Removes and returns the deliveries of this kind whose turn has not come.
    pub(super) fn take_held(
        &mut self,
        is_it: impl Fn(&Delivered) -> bool,
    ) -> Vec<(Arc<str>, Delivered)> {
        let mut taken = Vec::new();
        for (id, held) in &mut self.held {
            if !held.iter().any(&is_it) {
                continue;
            }
            let (of_kind, others): (VecDeque<_>, _) =
                std::mem::take(held).into_iter().partition(&is_it);
            *held = others;
            taken.extend(of_kind.into_iter().map(|it| (id.clone(), it)));
        }
        self.held.retain(|_, held| !held.is_empty());
        taken
    }

    /// There is a session with a leadership: removes and returns what it or another leadership of the
    /// shard could not be told. What only concerns the other one is dropped.
    pub(super) fn unsaid(
        &mut self,
        shard: ShardId,
        epoch: u64,
    ) -> Vec<(Arc<str>, Delivered, ToLeader)> {
        let of_shard = |(_, delivered, _): &(_, Delivered, _)| delivered.shard == shard;
        let (of_shard, others): (VecDeque<_>, _) = std::mem::take(&mut self.unsaid)
            .into_iter()
            .partition(of_shard);
        self.unsaid = others;
        let concerns_it = |(_, delivered, message): &(_, Delivered, ToLeader)| {
            delivered.epoch == epoch || matches!(message, ToLeader::Nacked { .. })
        };
        of_shard.into_iter().filter(concerns_it).collect()
    }

    /// The deliveries in flight of a shard.
    pub(super) fn of_shard(
        &mut self,
        shard: ShardId,
    ) -> impl Iterator<Item = (&Arc<str>, &mut Delivered)> {
        let all = self.in_flight.iter_mut();
        all.filter(move |(_, delivered)| delivered.shard == shard)
    }

    fn overdue(&mut self, id: &Arc<str>) {
        if let Some(delivered) = self.in_flight.remove(id) {
            self.late.add(id.clone(), delivered);
        }
    }
}
