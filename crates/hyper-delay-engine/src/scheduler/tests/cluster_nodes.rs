//! What the nodes of a cluster know of their connections, and what the scheduler of a shard may not
//! do to them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use race_wheel::Tick;

use super::{World, world::Delivered};
use crate::ledger::TaskRevision;
use crate::scheduler::{
    ConsumerId, CreditChange, GoneCopy, Nack, SchedulerInput, UnansweredDelivery,
    consumer::Consumer, rate_limits::RateKey,
};
use hyper_delay_store::{
    ReadStore as _, Space,
    record::{self, Name, key},
};

/// What the nodes know.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    pub(super) accounts: BTreeMap<ConsumerId, Account>,
    /// The copies that were adopted: connection, revision, round.
    pub(super) adopted: BTreeSet<(ConsumerId, u64, u32)>,
    /// The ids that a connection has, with the revision, the round and the end of the time to answer.
    held: BTreeMap<(ConsumerId, Arc<str>), (u64, u32, Tick)>,
    /// The revisions that are not to be delivered until then, because a connection has a copy, or
    /// none is known to have.
    barred: BTreeMap<(u64, Option<ConsumerId>), Tick>,
    /// The copies that waited for their ids when the scheduler began to hold deliveries: connection,
    /// revision, round.
    sent_before_hold: BTreeSet<(ConsumerId, u64, u32)>,
}

/// The credit of a connection.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) lent: u32,
    pub(super) recalled: u32,
    pub(super) returned: u32,
    /// More is wanted since the last loan.
    pub(super) wants: bool,
    /// How often more was wanted.
    pub(super) wanted: u32,
}

impl Nodes {
    pub(super) fn note_credit(&mut self, consumer: ConsumerId, credit: CreditChange) {
        let account = self.accounts.entry(consumer).or_default();
        match credit {
            CreditChange::Wanted => {
                assert!(!account.wants, "{consumer} wants twice");
                account.wants = true;
                account.wanted += 1;
            }
            CreditChange::Unwanted => {
                assert!(account.wants, "{consumer} has not wanted more");
                account.wants = false;
            }
            CreditChange::Returned(credit) => {
                assert!(credit > 0, "{consumer} gives nothing back");
                account.returned += u32::from(credit);
                let (returned, recalled) = (account.returned, account.recalled);
                assert!(returned <= recalled, "{consumer} gives back too much");
            }
        }
    }

    /// A copy is on its way to a connection.
    pub(super) fn sent(&mut self, delivery: &Delivered, until: Tick, now: Tick) {
        let Delivered { seq, attempt, .. } = delivery;
        let holder = (delivery.consumer, delivery.id.clone());
        let held = self.held.insert(holder, (*seq, *attempt, until));
        assert!(
            held.is_none_or(|(_, _, until)| until <= now),
            "{delivery:?}: the connection has the id already"
        );
        for ((_, who), until) in self.barred.range((*seq, None)..=(*seq, Some(u64::MAX))) {
            assert!(*until <= now, "{delivery:?} is in flight: {who:?}");
        }
    }

    /// A connection has answered a copy of an id, or it will not be sent. Another one of the id can be
    /// in flight.
    pub(super) fn ended(
        &mut self,
        (consumer, id): (ConsumerId, &Arc<str>),
        is_it: impl Fn((u64, u32)) -> bool,
    ) {
        let holder = (consumer, id.clone());
        if let Some((seq, attempt, _)) = self.held.get(&holder).copied()
            && is_it((seq, attempt))
        {
            self.held.remove(&holder);
            if self.barred.remove(&(seq, Some(consumer))).is_some() {
                self.barred.remove(&(seq, None));
            }
        }
    }

    pub(super) fn closed(&mut self, consumer: ConsumerId) {
        let held = self.held.keys().filter(|(holder, _)| *holder == consumer);
        let ids: Vec<Arc<str>> = held.map(|(_, id)| id.clone()).collect();
        for id in ids {
            self.ended((consumer, &id), |_| true);
        }
        self.accounts.remove(&consumer);
    }

    /// Whether a revision is not to be delivered.
    fn bar(&mut self, seq: u64, consumer: Option<ConsumerId>, until: Tick) {
        let barred = self.barred.entry((seq, consumer)).or_insert(until);
        *barred = until.max(*barred);
    }
}

impl World {
    pub(super) fn lend(&mut self, consumer: ConsumerId, credit: u16) {
        let account = self.nodes.accounts.entry(consumer).or_default();
        account.lent += u32::from(credit);
        account.wants = false;
        self.lead(SchedulerInput::Lent(consumer, credit));
    }

    /// Recalls some of what was lent and not recalled.
    pub(super) fn recall(&mut self, consumer: ConsumerId, credit: u16) {
        let account = self.nodes.accounts.entry(consumer).or_default();
        let most = account.lent - account.recalled;
        let credit = most.min(credit.into());
        account.recalled += credit;
        self.lead(SchedulerInput::Recalled(consumer, credit as u16));
    }

    /// The scheduler is to hold deliveries. It has sent those that wait for their ids by then.
    pub(super) fn note_hold(&mut self) {
        if !self.server.scheduler().takeover.holds_deliveries() {
            self.nodes.sent_before_hold = self.server.front().waiting().collect();
        }
    }

    /// While deliveries are held, a connection gets only what was sent before.
    pub(super) fn check_hold(&self, delivery: &Delivered) {
        let copy = (delivery.consumer, delivery.seq, delivery.attempt);
        assert!(
            !self.server.scheduler().takeover.holds_deliveries()
                || self.nodes.sent_before_hold.contains(&copy),
            "{delivery:?} is delivered"
        );
    }

    /// A connection has a delivery of an earlier leader.
    pub(super) fn adopt(&mut self, consumer: ConsumerId, adopted: UnansweredDelivery) {
        let until = self.now.after(adopted.left);
        let (seq, attempt) = (adopted.seq, adopted.attempt);
        let consumers = &self.server.scheduler().consumers;
        let is_open = consumers.get(consumer).is_some();
        if is_open && !consumers.holds_id(consumer, &adopted.id) {
            self.nodes.adopted.insert((consumer, seq, attempt));
            let held = (consumer, adopted.id.clone());
            self.nodes.held.insert(held, (seq, attempt, until));
            let task = self.server.scheduler().tasks.get(seq);
            let is_task = task.is_none_or(|task| task.route == adopted.route);
            let names = (&*adopted.route, &*adopted.id);
            if self.is_of_next_round(names, (seq, attempt)) && is_task {
                self.nodes.bar(seq, Some(consumer), until);
            }
        }
        self.lead(SchedulerInput::Adopted(consumer, vec![adopted]));
    }

    /// Whether a connection has a copy of the current round. Another leader can have sent a copy
    /// with the same round number: that one does not delay the next delivery.
    pub(super) fn is_of_round(&self, consumer: ConsumerId, seq: u64) -> bool {
        let round = self.server.scheduler().tasks.round(seq);
        round.is_some_and(|round| round.holders().any(|holder| holder == consumer))
    }

    /// Whether a copy is of a round that this leader has not begun.
    pub(super) fn is_of_next_round(
        &self,
        (route, id): (&str, &str),
        (seq, attempt): (u64, u32),
    ) -> bool {
        let tasks = &self.server.scheduler().tasks;
        if let Some(round) = tasks.round(seq) {
            return round.previous_round().is_some_and(|after| attempt > after);
        }
        let in_memory = tasks.get(seq).map(|task| task.attempt());
        let name = key::name(route, id);
        let name = self.store.get(Space::Names, &name).unwrap();
        let on_disk = name.map(|name| record::decode::<Name>(&name).unwrap().attempt);
        let rounds = in_memory.into_iter().chain(on_disk).max();
        rounds.is_none_or(|rounds| attempt > rounds)
    }

    /// A revision was in flight at a hand-over.
    pub(super) fn withhold(&mut self, seq: u64, left: Duration) {
        let round = self.server.scheduler().tasks.round(seq);
        if round.is_none_or(|round| round.previous_round().is_some()) {
            self.nodes.bar(seq, None, self.now.after(left));
        }
        self.lead(SchedulerInput::Withheld(vec![(seq, left)]));
    }

    /// A copy of a revision is gone.
    pub(super) fn gone(&mut self, seq: u64, attempt: u32, has_failed: bool) {
        self.nodes.barred.remove(&(seq, None));
        self.lead(SchedulerInput::CopiesGone(vec![GoneCopy {
            seq,
            attempt,
            has_failed,
        }]));
    }

    /// The node of a connection cannot be reached. Returns what the connection has, as its node
    /// would report it.
    pub(super) fn detach(&mut self, consumer: ConsumerId) -> Vec<UnansweredDelivery> {
        let copies = self.server.scheduler().copies_of(consumer);
        let in_flight = self.server.scheduler().in_flight();
        let in_flight = in_flight.filter(|(holder, _)| *holder == consumer);
        let in_flight: Vec<UnansweredDelivery> = in_flight.map(|(_, copy)| copy).collect();
        let mut known: Vec<_> = in_flight.iter().map(|it| (it.seq, it.attempt)).collect();
        known.sort_unstable();
        let copies: Vec<_> = copies.iter().map(|it| (it.seq, it.attempt)).collect();
        assert_eq!(copies, known);
        self.nodes.closed(consumer);
        for copy in &in_flight {
            self.outcomes.can_fail(copy.seq);
            let names = (&*copy.route, &*copy.id);
            let round = (copy.seq, copy.attempt);
            if self.is_of_round(consumer, copy.seq) || self.is_of_next_round(names, round) {
                self.nodes.bar(copy.seq, None, self.now.after(copy.left));
            }
        }
        // What it sends is lost with its node.
        self.server.front_mut().close(consumer);
        self.lead(SchedulerInput::Detached(consumer));
        in_flight
    }

    /// The revisions that the next leader is not to deliver for some time, one for each copy.
    pub(super) fn withheld_next(&self) -> Vec<(u64, Duration)> {
        let scheduler = self.server.scheduler();
        let left = |until: Tick| Duration::from_nanos(until.since(scheduler.now.monotonic));
        let known = scheduler.in_flight();
        let known: Vec<_> = known.map(|(_, copy)| (copy.seq, copy.left)).collect();
        let rounds = scheduler.tasks.rounds();
        let rounds = rounds.map(|(seq, round)| (seq, round.missing(), round.until()));
        let others = scheduler.inherited.iter().map(|(seq, inherited)| {
            let live = known.iter().filter(|(known, _)| *known == seq).count();
            (seq, inherited.missing(0, live), inherited.until())
        });
        let missing = rounds.chain(others).flat_map(|(seq, missing, until)| {
            std::iter::repeat_n((seq, left(until)), missing as usize)
        });
        let mut withheld: Vec<_> = missing.collect();
        withheld.extend(known);
        withheld.sort_unstable();
        withheld
    }

    pub(super) fn ack_by_name(&mut self, delivered: &Delivered) {
        self.note_answer(delivered);
        let revision = TaskRevision {
            route: delivered.route.clone(),
            id: delivered.id.clone(),
            seq: delivered.seq,
            attempt: delivered.attempt,
        };
        self.forget(delivered);
        let consumer = delivered.consumer;
        let number = Some(self.server.request_number(consumer));
        self.lead(SchedulerInput::Acked(consumer, Box::new(revision), number));
    }

    /// The front has no delivery that is answered without it.
    fn forget(&mut self, delivered: &Delivered) {
        let Delivered {
            consumer, id, seq, ..
        } = delivered;
        let front = self.server.front_mut();
        front.remove_unsent(*consumer, id, *seq, None);
    }

    pub(super) fn nack_by_name(
        &mut self,
        delivered: &Delivered,
        delay_ms: Option<u64>,
        failed: bool,
    ) {
        match failed {
            true => self.failed(delivered),
            false => self.unharmed(delivered),
        }
        self.note_answer(delivered);
        self.forget(delivered);
        let revision = TaskRevision {
            route: delivered.route.clone(),
            id: delivered.id.clone(),
            seq: delivered.seq,
            attempt: delivered.attempt,
        };
        let nack = Nack {
            revision,
            delay_ms,
            reason: None,
            failed,
        };
        self.lead(SchedulerInput::Nacked(delivered.consumer, Box::new(nack)));
    }

    /// Another leader takes over, and the connections stay. It knows nothing of them yet.
    pub(super) fn take_over(&mut self, consumers: &[ConsumerId]) {
        let before = self.restart();
        self.server.keep_front(before);
        self.nodes = Nodes::default();
        for consumer in consumers {
            // The session with the earlier leader has ended: what waits for its id is not sent.
            let front = self.server.front_mut();
            let _unsent = front.take_queued(*consumer, |_| true);
            self.lead(SchedulerInput::Opened(*consumer));
            if self.server.front_mut().is_closing(*consumer) {
                self.lead(SchedulerInput::Closing(*consumer));
            }
        }
        self.lead(SchedulerInput::TookOver);
        self.lead(SchedulerInput::DeliveriesHeld(true));
    }

    /// What is lent is used by no more copies than that, beside adopted ones, and what is recalled
    /// is returned.
    pub(super) fn check_credit(&self) {
        for (consumer, account) in &self.nodes.accounts {
            let Some(state) = self.server.scheduler().consumers.get(*consumer) else {
                continue;
            };
            let has = account.lent - account.returned;
            let copies = state.in_flight();
            let own = copies.filter(|copy| {
                let copy = (*consumer, copy.seq, copy.attempt);
                !self.nodes.adopted.contains(&copy)
            });
            let own = own.count() as u32;
            assert!(own <= has, "{consumer} has {own} copies: {account:?}");
            let is_used = state.load() as u32 >= has;
            assert!(
                is_used || account.returned == account.recalled,
                "{consumer} has {} copies and gives nothing back: {account:?}",
                state.load()
            );
        }
    }

    /// No task waits for a connection that has room, or that has not asked for credit.
    pub(super) fn check_waiting(&self) {
        if self.server.scheduler().takeover.holds_deliveries()
            || self.server.scheduler().is_shutting_down
        {
            return;
        }
        for (name, route) in self.server.scheduler().routes.iter() {
            if self
                .server
                .scheduler()
                .rate_limits
                .is_awaited(&RateKey::Deliveries(name.clone()))
            {
                continue;
            }
            let mut position = route.first_ready(crate::ledger::Position::default());
            while let Some(ready) = position {
                let task = self.server.scheduler().tasks.get(ready.seq).unwrap();
                let consumers = route.consumers().iter();
                for consumer in consumers {
                    let state = self.server.scheduler().consumers.get(*consumer).unwrap();
                    assert!(
                        self.server
                            .scheduler()
                            .consumers
                            .holds_id(*consumer, &task.id)
                            || self.is_asked_for(*consumer, state),
                        "{task:?} of {name} waits for {consumer}: {state:?}"
                    );
                }
                position = route.first_ready(ready.next());
            }
        }
    }

    /// Whether a connection has no room, and more credit was asked for if that is possible.
    fn is_asked_for(&self, consumer: ConsumerId, state: &Consumer) -> bool {
        let account = self.nodes.accounts.get(&consumer);
        let has_asked = account.is_some_and(|account| account.wants);
        !state.has_room() && (has_asked || !self.is_shard() || state.is_closing())
    }
}
