mod choose_consumer;

pub(super) use choose_consumer::NoConsumer;

use std::{collections::hash_map::Entry, sync::Arc};

use race_wheel::{Key, Tick};
use rustc_hash::FxHashMap;

use super::{
    ConsumerId,
    consumer::{AckedCopy, ClosedConsumer, Consumer, DeliveryCopy, TimeoutEffect},
    held_ids::HeldIds,
};
use crate::ledger::TaskRevision;
use hyper_delay_protocol::DeliverySelector;

/// The open connections.
#[derive(Debug, Default)]
pub(super) struct ConsumerTable {
    by_id: FxHashMap<ConsumerId, Consumer>,
    /// The ids of their copies, in flight and lost.
    held: HeldIds,
    /// The number of copies of a revision that open connections left unanswered.
    late: FxHashMap<u64, u32>,
}

impl ConsumerTable {
    pub(super) fn open(&mut self, consumer: ConsumerId) {
        self.by_id.insert(consumer, Consumer::new());
    }

    pub(super) fn close(&mut self, consumer: ConsumerId) -> Option<ClosedConsumer> {
        let closed = self.by_id.remove(&consumer)?.into_parts();
        for copy in &closed.unanswered {
            self.held.remove(&copy.id, consumer);
        }
        for seq in &closed.late {
            self.forget_late(*seq);
        }
        Some(closed)
    }

    /// The number of open connections.
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn get(&self, consumer: ConsumerId) -> Option<&Consumer> {
        self.by_id.get(&consumer)
    }

    pub(super) fn get_mut(&mut self, consumer: ConsumerId) -> Option<&mut Consumer> {
        self.by_id.get_mut(&consumer)
    }

    /// Whether a connection has a copy of a task with that id, on any route.
    pub(super) fn holds_id(&self, consumer: ConsumerId, id: &str) -> bool {
        let id = self.held.hash_of(id);
        self.held.get(id, consumer).is_some()
    }

    /// Gives a connection a copy, whose id it does not have. Returns false if it has another one of
    /// that revision.
    pub(super) fn add_copy(&mut self, consumer: ConsumerId, copy: DeliveryCopy) -> bool {
        let Some(state) = self.by_id.get_mut(&consumer) else {
            return false;
        };
        let (id, seq) = (copy.id.clone(), copy.seq);
        let is_added = state.add_copy(copy);
        if is_added {
            self.held.add(&id, consumer, seq);
        }
        is_added
    }

    /// Removes and returns a copy, if it is the one.
    fn take_copy(
        &mut self,
        consumer: ConsumerId,
        seq: u64,
        is_it: impl FnOnce(&DeliveryCopy) -> bool,
    ) -> Option<DeliveryCopy> {
        let state = self.by_id.get_mut(&consumer)?;
        let copy = state.take_copy(seq, is_it)?;
        self.held.remove(&copy.id, consumer);
        Some(copy)
    }

    /// Ends the time to answer a copy. A consumer that still has the copy in flight is chosen last
    /// until `suspect_until`. Returns whether this freed credit or an id.
    pub(super) fn time_out(&mut self, consumer: ConsumerId, seq: u64, suspect_until: Tick) -> bool {
        match self.end_copy(consumer, seq, suspect_until) {
            TimeoutEffect::Nothing => false,
            TimeoutEffect::Freed => true,
            TimeoutEffect::Late { forgotten } => {
                self.count_late(seq, forgotten);
                true
            }
        }
    }

    fn end_copy(&mut self, consumer: ConsumerId, seq: u64, suspect_until: Tick) -> TimeoutEffect {
        let Some(copy) = self.take_copy(consumer, seq, |_| true) else {
            return TimeoutEffect::Nothing;
        };
        let state = self.by_id.get_mut(&consumer);
        match state.filter(|_| !copy.is_lost) {
            None => TimeoutEffect::Freed,
            Some(state) => {
                state.suspect_until(suspect_until);
                let forgotten = state.add_late(DeliveryCopy { end: None, ..copy });
                TimeoutEffect::Late { forgotten }
            }
        }
    }

    /// A consumer has taken no bytes of a copy in its time: it is chosen last until then, or until it
    /// answers.
    pub(super) fn suspect(&mut self, consumer: ConsumerId, suspect_until: Tick) {
        if let Some(state) = self.by_id.get_mut(&consumer) {
            state.suspect_until(suspect_until);
        }
    }

    /// A connection has left a copy unanswered that was not in flight here.
    pub(super) fn add_late(&mut self, consumer: ConsumerId, copy: DeliveryCopy) {
        if let Some(state) = self.by_id.get_mut(&consumer) {
            let seq = copy.seq;
            let forgotten = state.add_late(copy);
            self.count_late(seq, forgotten);
        }
    }

    fn count_late(&mut self, seq: u64, forgotten: Option<u64>) {
        *self.late.entry(seq).or_default() += 1;
        if let Some(seq) = forgotten {
            self.forget_late(seq);
        }
    }

    /// Removes and returns the copy that an ack names.
    pub(super) fn take_acked(
        &mut self,
        consumer: ConsumerId,
        revision: &TaskRevision,
    ) -> Option<AckedCopy> {
        let state = self.by_id.get_mut(&consumer)?;
        state.has_answered();
        if let Some(copy) = state.take_copy(revision.seq, |copy| copy.is_of(revision)) {
            self.held.remove(&copy.id, consumer);
            return Some(match copy.is_lost {
                true => AckedCopy::Lost(copy),
                false => AckedCopy::InFlight(copy),
            });
        }
        let copy = state.take_late(revision)?;
        self.forget_late(copy.seq);
        Some(AckedCopy::Late)
    }

    /// Removes and returns the copy in flight that a nack names.
    pub(super) fn take_nacked(
        &mut self,
        consumer: ConsumerId,
        revision: &TaskRevision,
    ) -> Option<DeliveryCopy> {
        self.by_id.get_mut(&consumer)?.has_answered();
        self.take_copy(consumer, revision.seq, |copy| {
            !copy.is_lost && copy.is_of(revision)
        })
    }

    /// Removes and returns the copy that an answer names, if its task was acknowledged through
    /// another copy.
    pub(super) fn take_lost(
        &mut self,
        consumer: ConsumerId,
        revision: &TaskRevision,
    ) -> Option<DeliveryCopy> {
        self.take_copy(consumer, revision.seq, |copy| {
            copy.is_lost && copy.is_of(revision)
        })
    }

    /// Returns the copy in flight that a request names in full.
    pub(super) fn in_flight_of(
        &self,
        consumer: ConsumerId,
        named: &DeliverySelector,
    ) -> Option<&DeliveryCopy> {
        let state = self.by_id.get(&consumer)?;
        let seq = self.held.get(self.held.hash_of(&named.id), consumer)?;
        let copy = state.in_flight_copy(seq)?;
        let is_it = copy.id == named.id
            && named
                .route
                .as_ref()
                .is_none_or(|route| *route == copy.route)
            && named.attempt.is_none_or(|attempt| attempt == copy.attempt);
        is_it.then_some(copy)
    }

    /// Removes and returns a copy that was not sent, in this round or in any.
    pub(super) fn take_unsent(
        &mut self,
        consumer: ConsumerId,
        seq: u64,
        attempt: Option<u32>,
    ) -> Option<DeliveryCopy> {
        self.take_copy(consumer, seq, |copy| {
            attempt.is_none_or(|attempt| attempt == copy.attempt)
        })
    }

    /// The task was acknowledged through another copy. Returns its id if this consumer has a copy in
    /// flight.
    pub(super) fn mark_lost(&mut self, consumer: ConsumerId, seq: u64) -> Option<Arc<str>> {
        self.by_id.get_mut(&consumer)?.mark_lost(seq)
    }

    /// No round waits for a copy any more; its time to answer is over at the timer `end`. Returns
    /// false if there is no such copy.
    pub(super) fn set_copy_timer(&mut self, consumer: ConsumerId, seq: u64, end: Key) -> bool {
        let state = self.by_id.get_mut(&consumer);
        let timer = state.and_then(|state| state.copy_timer_mut(seq));
        timer.map(|timer| *timer = Some(end)).is_some()
    }

    /// Whether an open connection left a copy of a revision unanswered and may still answer it.
    pub(super) fn is_late(&self, seq: u64) -> bool {
        self.late.contains_key(&seq)
    }

    /// The copies in flight of all connections.
    pub(super) fn in_flight(&self) -> impl Iterator<Item = (ConsumerId, &DeliveryCopy)> {
        self.by_id.iter().flat_map(|(consumer, state)| {
            let copies = state.in_flight();
            copies.map(|copy| (*consumer, copy))
        })
    }

    /// The copies in flight and the lost ones of all connections.
    #[cfg(test)]
    pub(super) fn unanswered(&self) -> impl Iterator<Item = (ConsumerId, &DeliveryCopy)> {
        self.by_id.iter().flat_map(|(consumer, state)| {
            let copies = state.unanswered();
            copies.map(|copy| (*consumer, copy))
        })
    }

    fn forget_late(&mut self, seq: u64) {
        if let Entry::Occupied(mut late) = self.late.entry(seq) {
            *late.get_mut() -= 1;
            if *late.get() == 0 {
                late.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::declined_rounds::{AvoidedConsumers, DeclinedRounds};

    const NOW: Tick = Tick::ZERO;

    fn consumers() -> ConsumerTable {
        let mut consumers = ConsumerTable::default();
        for consumer in 1..=3 {
            consumers.open(consumer);
            let state = consumers.get_mut(consumer).unwrap();
            state.change_loan(|lending| lending.lend(2));
        }
        consumers
    }

    fn add_copy(consumers: &mut ConsumerTable, consumer: ConsumerId, id: &str, seq: u64) {
        let copy = DeliveryCopy::new("route".into(), id.into(), seq, 1);
        assert!(consumers.add_copy(consumer, copy));
    }

    fn revision(id: &str, seq: u64) -> TaskRevision {
        TaskRevision {
            route: "route".into(),
            id: id.into(),
            seq,
            attempt: 1,
        }
    }

    fn choose(consumers: &ConsumerTable, last: Option<ConsumerId>) -> Result<u64, NoConsumer> {
        let avoided = AvoidedConsumers {
            last,
            declined: None,
        };
        choose_avoiding(consumers, avoided)
    }

    fn choose_avoiding(
        consumers: &ConsumerTable,
        avoided: AvoidedConsumers<'_>,
    ) -> Result<u64, NoConsumer> {
        let chosen = consumers.choose([1, 2, 3].into_iter(), "id", avoided, NOW);
        chosen.map(|(_, consumer)| consumer)
    }

    #[test]
    fn the_first_of_the_least_loaded_is_chosen() {
        let mut consumers = consumers();
        assert_eq!(choose(&consumers, None), Ok(1));
        add_copy(&mut consumers, 1, "a", 1);
        assert_eq!(choose(&consumers, None), Ok(2));
        add_copy(&mut consumers, 2, "b", 2);
        assert_eq!(choose(&consumers, Some(3)), Ok(1), "3 failed it last");
        add_copy(&mut consumers, 3, "c", 3);
        assert_eq!(choose(&consumers, None), Ok(1));
    }

    #[test]
    fn a_consumer_that_left_a_copy_unanswered_comes_last() {
        let mut consumers = consumers();
        add_copy(&mut consumers, 1, "a", 1);
        assert!(consumers.time_out(1, 1, Tick::new(5)));
        assert!(consumers.is_late(1));
        add_copy(&mut consumers, 2, "b", 2);
        add_copy(&mut consumers, 3, "c", 3);
        assert_eq!(choose(&consumers, None), Ok(2));
        let acked = consumers.take_acked(1, &revision("a", 1));
        assert!(matches!(acked, Some(AckedCopy::Late)), "{acked:?}");
        assert!(!consumers.is_late(1));
        assert_eq!(choose(&consumers, None), Ok(1));
    }

    #[test]
    fn without_credit_or_with_the_same_id_there_is_no_consumer() {
        let mut consumers = consumers();
        for consumer in 1..=3 {
            add_copy(&mut consumers, consumer, "id", consumer);
        }
        assert_eq!(choose(&consumers, None), Err(NoConsumer::IdInFlight));
        for consumer in 1..=3 {
            add_copy(&mut consumers, consumer, "other", 10 + consumer);
        }
        assert_eq!(choose(&consumers, None), Err(NoConsumer::NoCredit));
    }

    #[test]
    fn a_consumer_that_rests_is_not_chosen() {
        let mut consumers = consumers();
        let mut declined = DeclinedRounds::default();
        declined.add_rest(1, Tick::new(30), NOW);
        declined.add_rest(3, Tick::new(20), NOW);
        let choose = |consumers: &ConsumerTable| {
            let avoided = AvoidedConsumers {
                last: Some(2),
                declined: Some(&declined),
            };
            choose_avoiding(consumers, avoided)
        };
        assert_eq!(choose(&consumers), Ok(2));
        add_copy(&mut consumers, 2, "id", 2);
        assert_eq!(choose(&consumers), Err(NoConsumer::Resting(Tick::new(20))));
        add_copy(&mut consumers, 3, "a", 3);
        add_copy(&mut consumers, 3, "b", 4);
        assert_eq!(choose(&consumers), Err(NoConsumer::Resting(Tick::new(30))));
        add_copy(&mut consumers, 1, "id", 5);
        assert_eq!(choose(&consumers), Err(NoConsumer::IdInFlight));
    }

    #[test]
    fn a_connection_that_closes_takes_its_late_copies_with_it() {
        let mut consumers = consumers();
        add_copy(&mut consumers, 1, "a", 1);
        consumers.time_out(1, 1, Tick::new(5));
        let closed = consumers.close(1).unwrap();
        assert_eq!(closed.late, [1]);
        assert!(!consumers.is_late(1));
    }

    #[test]
    fn an_overdue_copy_is_late_and_returns_its_credit_and_its_id() {
        let mut consumers = consumers();
        let until = Tick::new(100);
        add_copy(&mut consumers, 1, "id", 7);
        assert!(!consumers.time_out(1, 8, until));
        assert!(!consumers.get(1).unwrap().is_suspect(Tick::ZERO));
        assert!(consumers.time_out(1, 7, until));
        assert!(!consumers.holds_id(1, "id") && consumers.is_late(7));
        let state = consumers.get(1).unwrap();
        assert_eq!(state.load(), 0);
        assert!(state.is_suspect(Tick::new(99)) && !state.is_suspect(until));
        assert_eq!(state.late_attempt("route", "id"), Some(1));
    }

    #[test]
    fn any_answer_ends_the_suspicion() {
        let mut consumers = consumers();
        add_copy(&mut consumers, 1, "id", 7);
        consumers.time_out(1, 7, Tick::new(100));
        assert!(consumers.take_nacked(1, &revision("id", 7)).is_none());
        assert!(!consumers.get(1).unwrap().is_suspect(Tick::ZERO));
    }

    #[test]
    fn a_lost_copy_keeps_its_id_until_it_ends() {
        let mut consumers = consumers();
        add_copy(&mut consumers, 1, "id", 7);
        assert_eq!(consumers.mark_lost(1, 7).as_deref(), Some("id"));
        assert_eq!(consumers.mark_lost(1, 7), None);
        assert!(consumers.holds_id(1, "id"));
        assert!(consumers.take_nacked(1, &revision("id", 7)).is_none());
        assert!(consumers.time_out(1, 7, Tick::ZERO));
        assert!(!consumers.holds_id(1, "id") && !consumers.is_late(7));
    }

    #[test]
    fn several_connections_have_copies_of_an_id() {
        let mut consumers = consumers();
        for consumer in 1..=3 {
            add_copy(&mut consumers, consumer, "id", consumer);
        }
        assert!(consumers.take_unsent(2, 2, None).is_some());
        let holders = [1, 2, 3].map(|consumer| consumers.holds_id(consumer, "id"));
        assert_eq!(holders, [true, false, true]);
        consumers.close(1);
        assert!(consumers.take_lost(3, &revision("id", 3)).is_none());
        assert!(consumers.take_nacked(3, &revision("id", 3)).is_some());
        assert_eq!(consumers.held.len(), 0);
    }
}
