mod choose_consumer;

pub(super) use choose_consumer::NoConsumer;

use std::{collections::hash_map::Entry, sync::Arc};

use race_wheel::{Key, Tick};
use rustc_hash::FxHashMap;

use super::{
    ConsumerId, DeliveryName,
    consumer::{AckedCopy, ClosedConsumer, Consumer, DeliveryCopy, TimeoutEffect},
    held_ids::HeldIds,
};
use crate::ledger::TaskRevision;

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

    /// Returns the copy in flight of this name.
    pub(super) fn in_flight_of(
        &self,
        consumer: ConsumerId,
        name: &DeliveryName,
    ) -> Option<&DeliveryCopy> {
        let state = self.by_id.get(&consumer)?;
        let seq = self.held.get(self.held.hash_of(&name.id), consumer)?;
        let copy = state.in_flight_copy(seq)?;
        let is_it = (&copy.id, &copy.route, copy.attempt) == (&name.id, &name.route, name.attempt);
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
mod tests;
