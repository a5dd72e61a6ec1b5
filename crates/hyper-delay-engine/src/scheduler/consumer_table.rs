mod choose_consumer;

pub(super) use choose_consumer::NoConsumer;

use std::{collections::hash_map::Entry, sync::Arc};

use race_wheel::{Key, Tick};
use rustc_hash::FxHashMap;

use super::{
    ConsumerId,
    consumer::{ClosedConsumer, Consumer, DeliveryCopy, TimeoutEffect},
};
use hyper_delay_protocol::DeliverySelector;

/// The open connections.
#[derive(Debug, Default)]
pub(super) struct ConsumerTable {
    by_id: FxHashMap<ConsumerId, Consumer>,
    /// The number of copies of a revision that open connections left unanswered.
    late: FxHashMap<u64, u32>,
}

impl ConsumerTable {
    pub(super) fn open(&mut self, consumer: ConsumerId, credit: u16) {
        self.by_id.insert(consumer, Consumer::new(credit));
    }

    pub(super) fn close(&mut self, consumer: ConsumerId) -> Option<ClosedConsumer> {
        let closed = self.by_id.remove(&consumer)?.into_parts();
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

    /// Ends the time to answer a copy. A consumer that still has the copy in flight is chosen last
    /// until `suspect_until`. Returns whether this freed credit or an id.
    pub(super) fn time_out(
        &mut self,
        consumer: ConsumerId,
        id: &str,
        seq: u64,
        suspect_until: Tick,
    ) -> bool {
        let Some(state) = self.by_id.get_mut(&consumer) else {
            return false;
        };
        match state.time_out(id, seq, suspect_until) {
            TimeoutEffect::Nothing => false,
            TimeoutEffect::Freed => true,
            TimeoutEffect::Late { forgotten } => {
                self.count_late(seq, forgotten);
                true
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
    pub(super) fn add_late(&mut self, consumer: ConsumerId, id: Arc<str>, copy: DeliveryCopy) {
        if let Some(state) = self.by_id.get_mut(&consumer) {
            let seq = copy.seq;
            let forgotten = state.add_late(id, copy);
            self.count_late(seq, forgotten);
        }
    }

    /// Removes and returns this copy, which a connection left unanswered.
    pub(super) fn take_late(
        &mut self,
        consumer: ConsumerId,
        id: &str,
        this: &DeliveryCopy,
    ) -> Option<DeliveryCopy> {
        let copy = self.by_id.get_mut(&consumer)?.take_late(id, this)?;
        self.forget_late(copy.seq);
        Some(copy)
    }

    fn count_late(&mut self, seq: u64, forgotten: Option<u64>) {
        *self.late.entry(seq).or_default() += 1;
        if let Some(seq) = forgotten {
            self.forget_late(seq);
        }
    }

    /// Removes and returns the copy in flight that an answer names.
    pub(super) fn take_answered(
        &mut self,
        consumer: ConsumerId,
        named: &DeliverySelector,
    ) -> Option<DeliveryCopy> {
        self.by_id.get_mut(&consumer)?.take_answered(named)
    }

    /// Returns the copy in flight that a request names.
    pub(super) fn in_flight_of(
        &self,
        consumer: ConsumerId,
        named: &DeliverySelector,
    ) -> Option<&DeliveryCopy> {
        self.by_id.get(&consumer)?.in_flight_of(named)
    }

    /// Removes and returns the unanswered copy that a late answer names.
    pub(super) fn take_late_answered(
        &mut self,
        consumer: ConsumerId,
        named: &DeliverySelector,
    ) -> Option<DeliveryCopy> {
        let copy = self.by_id.get_mut(&consumer)?.take_late_answered(named)?;
        self.forget_late(copy.seq);
        Some(copy)
    }

    /// Removes and returns the copy that an answer names, if its task was acknowledged through
    /// another copy.
    pub(super) fn take_lost_answered(
        &mut self,
        consumer: ConsumerId,
        named: &DeliverySelector,
    ) -> Option<DeliveryCopy> {
        self.by_id.get_mut(&consumer)?.take_lost_answered(named)
    }

    /// Removes and returns a copy that was not sent.
    pub(super) fn take_unsent(
        &mut self,
        consumer: ConsumerId,
        id: &str,
        seq: u64,
        attempt: Option<u32>,
    ) -> Option<DeliveryCopy> {
        self.by_id.get_mut(&consumer)?.take_unsent(id, seq, attempt)
    }

    /// The task was acknowledged through another copy. Returns false if this consumer has no copy
    /// in flight.
    pub(super) fn mark_lost(&mut self, consumer: ConsumerId, id: &str, seq: u64) -> bool {
        self.by_id
            .get_mut(&consumer)
            .is_some_and(|state| state.mark_lost(id, seq))
    }

    /// No round waits for a copy any more; its time to answer is over at the timer `end`. Returns
    /// false if there is no such copy.
    pub(super) fn set_copy_timer(
        &mut self,
        consumer: ConsumerId,
        id: &str,
        seq: u64,
        end: Key,
    ) -> bool {
        self.by_id
            .get_mut(&consumer)
            .is_some_and(|state| state.set_copy_timer(id, seq, end))
    }

    /// Whether an open connection left a copy of a revision unanswered and may still answer it.
    pub(super) fn is_late(&self, seq: u64) -> bool {
        self.late.contains_key(&seq)
    }

    /// The copies in flight of all connections.
    pub(super) fn in_flight(&self) -> impl Iterator<Item = (ConsumerId, &Arc<str>, &DeliveryCopy)> {
        self.by_id.iter().flat_map(|(consumer, state)| {
            let copies = state.in_flight();
            copies.map(|(id, copy)| (*consumer, id, copy))
        })
    }

    /// The copies in flight and the lost ones of all connections.
    #[cfg(test)]
    pub(super) fn unanswered(
        &self,
    ) -> impl Iterator<Item = (ConsumerId, &Arc<str>, &DeliveryCopy)> {
        self.by_id.iter().flat_map(|(consumer, state)| {
            let copies = state.unanswered();
            copies.map(|(id, copy)| (*consumer, id, copy))
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
            consumers.open(consumer, 2);
        }
        consumers
    }

    fn add_copy(consumers: &mut ConsumerTable, consumer: ConsumerId, id: &str, seq: u64) {
        let copy = DeliveryCopy {
            route: "route".into(),
            seq,
            attempt: 1,
            end: None,
        };
        consumers
            .get_mut(consumer)
            .unwrap()
            .add_copy(id.into(), copy);
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
        assert!(consumers.time_out(1, "a", 1, Tick::new(5)));
        assert!(consumers.is_late(1));
        add_copy(&mut consumers, 2, "b", 2);
        add_copy(&mut consumers, 3, "c", 3);
        assert_eq!(choose(&consumers, None), Ok(2));
        let named = DeliverySelector {
            id: "a".into(),
            route: None,
            attempt: None,
        };
        assert!(consumers.take_answered(1, &named).is_none());
        assert!(consumers.take_late_answered(1, &named).is_some());
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
        consumers.time_out(1, "a", 1, Tick::new(5));
        let closed = consumers.close(1).unwrap();
        assert_eq!(closed.late, [1]);
        assert!(!consumers.is_late(1));
    }
}
