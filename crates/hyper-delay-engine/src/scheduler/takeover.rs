//! Takes over what earlier leaders have delivered, and passes on what is in flight.

use std::time::Duration;

use race_wheel::{Key, Tick};

use super::{
    ConsumerId, CopyId, Scheduler, UnansweredDelivery,
    consumer::DeliveryCopy,
    inherited_deliveries::InheritedRound,
    round::{Round, VoidedCopy},
    task::PendingChange,
    task_table::PreviousState,
    timers::{CopyTimeout, Timer},
};
use hyper_delay_store::Store;

impl<S: Store> Scheduler<S> {
    /// A connection has copies that earlier leaders have sent.
    pub(super) fn adopt_deliveries(
        &mut self,
        consumer: ConsumerId,
        copies: Vec<UnansweredDelivery>,
    ) {
        for adopted in copies {
            let until = self.now.after(adopted.left);
            let UnansweredDelivery {
                route,
                id,
                seq,
                attempt,
                ..
            } = adopted;
            self.adopt_copy(consumer, DeliveryCopy::new(route, id, seq, attempt), until);
        }
    }

    fn adopt_copy(&mut self, consumer: ConsumerId, mut copy: DeliveryCopy, until: Tick) {
        let Some(state) = self.consumers.get(consumer) else {
            return;
        };
        let known = state.copy(copy.seq);
        if known.is_some() || self.consumers.holds_id(consumer, &copy.id) {
            // A connection has one copy of an id at a time. The answer to another one still counts.
            if known.is_none_or(|known| !known.is_same(&copy)) {
                self.consumers.add_late(consumer, copy);
            }
            return;
        }
        let (seq, attempt) = (copy.seq, copy.attempt);
        let is_of_round = self.tasks.round_mut(seq).is_some_and(|(task, round)| {
            let is_this = task.id == copy.id && task.route == copy.route;
            let (holder, timers) = ((consumer, attempt), &mut self.timers);
            let is_of_round = is_this && round.adopt(seq, holder, until, timers);
            if is_of_round {
                task.use_attempts(attempt);
            }
            is_of_round
        });
        if !is_of_round {
            let timer = Timer::CopyTimeout(Box::new(CopyTimeout {
                consumer,
                seq,
                ack_timeout: self.settings.of_route(&copy.route).ack_timeout,
            }));
            copy.end = Some(self.timers.insert(until, timer));
            let holder = (consumer, attempt);
            self.inherited.adopt(seq, holder, until, &mut self.timers);
        }
        self.consumers.add_copy(consumer, copy);
        if self.tasks.is_ready(seq) {
            self.claim_inherited(seq);
        }
    }

    /// Checks a task that was loaded and that an earlier leader may have delivered. Returns whether
    /// it must not be delivered now: it is in flight, its last round has failed, or it is done.
    pub(super) fn claim_inherited(&mut self, seq: u64) -> bool {
        if self.inherited.is_empty() {
            return false;
        }
        if self.inherited.is_finishing(seq) {
            let left = self
                .tasks
                .commit(seq, PendingChange::Finish, &mut self.timers);
            if let Some(PreviousState::Ready) = left {
                self.unqueue(seq);
            }
            return left.is_some();
        }
        let Some(task) = self.tasks.get(seq) else {
            return false;
        };
        let (after, now) = (task.attempt(), self.now.monotonic);
        let inherited = self.inherited.get(seq);
        let known = inherited.and_then(|it| it.round_after(after, seq, now, &self.consumers));
        let Some(InheritedRound { live, attempt }) = known else {
            return false;
        };
        let of_route = || self.settings.of_route(&task.route).ack_timeout;
        let ack_timeout = task.ack_timeout().unwrap_or_else(of_route);
        if self.tasks.is_ready(seq) {
            self.unqueue(seq);
        }
        let Some(inherited) = self.inherited.take(seq, &mut self.timers) else {
            return false;
        };
        for consumer in &live {
            let state = self.consumers.get_mut(*consumer);
            let timer = state.and_then(|state| state.copy_timer_mut(seq)?.take());
            if let Some(end) = timer {
                self.timers.cancel(end);
            }
        }
        let timers = &mut self.timers;
        let round = Round::inherited(seq, &inherited, live, after, ack_timeout, timers);
        if let Some(task) = self.tasks.get_mut(seq) {
            task.use_attempts(attempt);
        }
        self.tasks.begin_round(seq, round);
        self.advance_round(seq);
        true
    }

    /// A copy was not sent, because the leadership was not known to hold any more. Its task is due
    /// again, and no round has failed.
    pub(super) fn handle_voided(&mut self, copy: &CopyId, attempt: u32) {
        let CopyId { consumer, seq, .. } = copy;
        let unsent = self.consumers.take_unsent(*consumer, *seq, Some(attempt));
        if unsent.is_none() {
            return;
        }
        self.void_copy(*seq, *consumer);
        self.release_copy(*consumer, unsent);
    }

    fn void_copy(&mut self, seq: u64, consumer: ConsumerId) {
        let Some((task, round)) = self.tasks.round_mut(seq) else {
            return self.inherited.void_copy(seq, consumer);
        };
        match round.void_copy(consumer, self.now.monotonic) {
            VoidedCopy::Unknown => self.inherited.void_copy(seq, consumer),
            VoidedCopy::OthersStay => self.advance_round(seq),
            VoidedCopy::OthersUnknown => {
                task.avoid(Some(consumer));
                self.handle_round_copies_gone(seq);
            }
            VoidedCopy::Only => {
                task.avoid(Some(consumer));
                self.tasks.end_round(seq, &mut self.timers);
                self.offer_again(seq);
            }
        }
    }

    /// A task is acknowledged. It may not be loaded yet, and connections may have copies of it.
    pub(super) fn finish_inherited(&mut self, seq: u64) {
        if self.inherited.is_empty() {
            return;
        }
        let Some(inherited) = self.inherited.take(seq, &mut self.timers) else {
            return;
        };
        if !self.tasks.contains(seq) {
            self.inherited.begin_finish(seq);
        }
        for (consumer, _) in inherited.copies() {
            if self.lose_copy(*consumer, seq) {
                self.dispatch_for(*consumer);
            }
        }
    }

    /// Extends the time to answer a copy of an earlier leader, of a task that is not loaded.
    /// Returns when it ends.
    pub(super) fn touch_inherited(
        &mut self,
        (consumer, seq): (ConsumerId, u64),
        route: &str,
        extend_ms: Option<u64>,
        end: Key,
    ) -> Option<Tick> {
        let of_route = || self.settings.of_route(route).ack_timeout;
        let longer = extend_ms.map_or_else(of_route, Duration::from_millis);
        let (until, timers) = (self.now.after(longer), &mut self.timers);
        let until = self.inherited.extend(seq, consumer, until, timers)?;
        let end = self.timers.reschedule(end, until)?;
        self.consumers.set_copy_timer(consumer, seq, end);
        Some(until)
    }

    /// Returns the unanswered deliveries that can still be answered in time, ordered by connection
    /// and id: for a planned hand-over.
    pub fn in_flight(&self) -> impl Iterator<Item = (ConsumerId, UnansweredDelivery)> {
        let copies = self.consumers.in_flight();
        let copies = copies.filter_map(|(consumer, copy)| {
            let until = match copy.end {
                None => self.tasks.round(copy.seq)?.until(),
                Some(_) => {
                    let holder = (consumer, copy.attempt);
                    self.inherited.until_of(copy.seq, holder)?
                }
            };
            let adopted = UnansweredDelivery {
                route: copy.route.clone(),
                id: copy.id.clone(),
                seq: copy.seq,
                attempt: copy.attempt,
                left: self.now.time_left(until),
            };
            Some((consumer, adopted))
        });
        let mut copies: Vec<(ConsumerId, UnansweredDelivery)> = copies.collect();
        copies.sort_unstable_by(|(a, one), (b, other)| (a, &one.id).cmp(&(b, &other.id)));
        copies.into_iter()
    }
}
