//! Takes over what earlier leaders have delivered, and passes on what is in flight.

use std::{sync::Arc, time::Duration};

use race_wheel::{Key, Tick};

use super::{
    Adopted, ConsumerId, CopyOf, Scheduler,
    consumer::Copy,
    inherited::Legacy,
    round::{GivenBack, Round},
    task::Change,
    tasks::Left,
    timers::{CopyEnd, Timer},
};
use hyper_delay_store::Store;

impl<S: Store> Scheduler<S> {
    /// A connection has copies that earlier leaders have sent.
    pub(super) fn adopted(&mut self, consumer: ConsumerId, copies: Vec<Adopted>) {
        for adopted in copies {
            let until = self.now.after(adopted.left);
            let copy = Copy {
                route: adopted.route,
                seq: adopted.seq,
                attempt: adopted.attempt,
                end: None,
            };
            self.adopt(consumer, adopted.id, copy, until);
        }
    }

    fn adopt(&mut self, consumer: ConsumerId, id: Arc<str>, mut copy: Copy, until: Tick) {
        let Some(state) = self.consumers.get(consumer) else {
            return;
        };
        if state.holds(&id) {
            // A connection has one copy of an id at a time. The answer to another one still counts.
            if !state.has(&id, &copy) {
                self.consumers.add_late(consumer, id, copy);
            }
            return;
        }
        let (seq, attempt) = (copy.seq, copy.attempt);
        let is_of_round = self.tasks.round_mut(seq).is_some_and(|(task, round)| {
            let is_this = task.id == id && task.route == copy.route;
            let is_of_round = is_this && round.adopt(consumer, attempt);
            if is_of_round {
                task.attempt = task.attempt.max(attempt);
                round.extend(seq, until, &mut self.timers);
            }
            is_of_round
        });
        if !is_of_round {
            let timer = Timer::CopyEnd(Box::new(CopyEnd {
                consumer,
                id: id.clone(),
                seq,
                ack_timeout: self.settings.of_route(&copy.route).ack_timeout,
            }));
            copy.end = Some(self.timers.insert(until, timer));
            let copy = (consumer, attempt);
            let timers = &mut self.timers;
            self.remote.inherited.adopt(seq, copy, until, timers);
        }
        if let Some(state) = self.consumers.get_mut(consumer) {
            state.give(id, copy);
        }
        if self.tasks.is_ready(seq) {
            self.claim(seq);
        }
    }

    /// A task has come up that an earlier leader may have delivered. Returns whether it is not to
    /// be delivered now: it is in flight, its last round has failed, or it is done.
    pub(super) fn claim(&mut self, seq: u64) -> bool {
        if self.remote.inherits_nothing() {
            return false;
        }
        if self.remote.is_finishing(seq) {
            let left = self.tasks.commit(seq, Change::Finish, &mut self.timers);
            if let Some(Left::Ready) = left {
                self.unqueue(seq);
            }
            return left.is_some();
        }
        let Some(task) = self.tasks.get(seq) else {
            return false;
        };
        let Some(legacy) = self.remote.inherited.get(seq) else {
            return false;
        };
        let (id, after) = (task.id.clone(), task.attempt);
        let live = self.live_copies(legacy, seq, &id, after);
        let failed = legacy.failed_after(after);
        let is_missing =
            legacy.until() > self.now.monotonic && legacy.missing(after, live.len()) > 0;
        if live.is_empty() && failed.is_none() && !is_missing {
            return false;
        }
        let of_route = || self.settings.of_route(&task.route).ack_timeout;
        let ack_timeout = task.ack_timeout().unwrap_or_else(of_route);
        if self.tasks.is_ready(seq) {
            self.unqueue(seq);
        }
        let Some(legacy) = self.remote.inherited.take(seq, &mut self.timers) else {
            return false;
        };
        for (consumer, _) in &live {
            let state = self.consumers.get_mut(*consumer);
            if let Some(end) = state.and_then(|state| state.take_end(&id, seq)) {
                self.timers.cancel(end);
            }
        }
        let known = live.iter().map(|(_, attempt)| *attempt).chain(failed);
        let attempt = known.max().unwrap_or(after);
        let live = live.into_iter().map(|(consumer, _)| consumer).collect();
        let timers = &mut self.timers;
        let round = Round::inherited(seq, &legacy, live, after, ack_timeout, timers);
        if let Some(task) = self.tasks.get_mut(seq) {
            task.attempt = attempt;
        }
        self.tasks.begin_round(seq, round);
        self.advance_round(seq);
        true
    }

    /// The copies of a task that has not come up, of the rounds after `after`, that are unanswered.
    pub(super) fn live_copies(
        &self,
        legacy: &Legacy,
        seq: u64,
        id: &str,
        after: u32,
    ) -> Vec<(ConsumerId, u32)> {
        let copies = legacy.copies().iter().filter(|(consumer, attempt)| {
            let state = self.consumers.get(*consumer);
            *attempt > after && state.is_some_and(|state| state.has_in_flight(id, seq))
        });
        copies.copied().collect()
    }

    /// A copy was not sent, because the leadership was not known to hold any more. Its task is due
    /// again, and no round has failed.
    pub(super) fn voided(&mut self, copy: &CopyOf, attempt: u32) {
        let CopyOf { consumer, seq, id } = copy;
        let unsent = self.consumers.unsent(*consumer, id, *seq, Some(attempt));
        if unsent.is_none() {
            return;
        }
        let now = self.now.monotonic;
        match self.tasks.round_mut(*seq) {
            Some((task, round)) if round.holders().any(|holder| holder == *consumer) => {
                if round.void(*consumer) {
                    task.last_consumer = Some(*consumer);
                    self.copies_gone(*seq);
                } else if round.holders().any(|holder| holder != *consumer) {
                    if round.fail(*consumer, GivenBack::void(), now) {
                        self.advance_round(*seq);
                    }
                } else {
                    task.last_consumer = Some(*consumer);
                    self.tasks.end_round(*seq, &mut self.timers);
                    self.offer_again(*seq);
                }
            }
            _ => self.remote.inherited.voided(*seq, *consumer),
        }
        self.release(*consumer, unsent);
    }

    /// A task is acknowledged. It may not have come up, and connections may have copies of it.
    pub(super) fn finish_inherited(&mut self, seq: u64, id: &Arc<str>) {
        if self.remote.inherited.is_empty() {
            return;
        }
        let Some(legacy) = self.remote.inherited.take(seq, &mut self.timers) else {
            return;
        };
        if !self.tasks.contains(seq) {
            self.remote.finish(seq);
        }
        for (consumer, _) in legacy.copies() {
            if self.consumers.lose(*consumer, id, seq) {
                self.dispatch_for(*consumer);
            }
        }
    }

    /// Whether an earlier leader has delivered a task that has not come up here.
    pub(super) fn is_inherited(&self, seq: u64, id: &str) -> bool {
        if self.remote.inherits_nothing() {
            return false;
        }
        let legacy = self.remote.inherited.get(seq);
        let is_in_flight = legacy.is_some_and(|legacy| {
            let live = self.live_copies(legacy, seq, id, 0);
            let is_over = legacy.until() <= self.now.monotonic;
            !live.is_empty() || !is_over && legacy.missing(0, 0) > 0
        });
        is_in_flight || self.remote.is_finishing(seq)
    }

    /// Extends the time to answer a copy of an earlier leader, of a task that has not come up.
    /// Returns when it ends.
    pub(super) fn touch_inherited(
        &mut self,
        (consumer, id, seq): (ConsumerId, &str, u64),
        route: &str,
        extend_ms: Option<u64>,
        end: Key,
    ) -> Option<Tick> {
        let of_route = || self.settings.of_route(route).ack_timeout;
        let longer = extend_ms.map_or_else(of_route, Duration::from_millis);
        let (until, timers) = (self.now.after(longer), &mut self.timers);
        let until = self.remote.inherited.extend(seq, consumer, until, timers)?;
        let end = self.timers.reschedule(end, until)?;
        self.consumers.set_end(consumer, id, seq, end);
        Some(until)
    }

    /// Returns the unanswered deliveries that can still be answered in time, ordered by connection
    /// and id: for a planned hand-over.
    pub fn in_flight(&self) -> impl Iterator<Item = (ConsumerId, Adopted)> {
        let copies = self.consumers.in_flight();
        let copies = copies.filter_map(|(consumer, id, copy)| {
            let until = match copy.end {
                None => self.tasks.round(copy.seq)?.until(),
                Some(_) => {
                    let legacy = self.remote.inherited.get(copy.seq)?;
                    let copy = (consumer, copy.attempt);
                    legacy.copies().contains(&copy).then(|| legacy.until())?
                }
            };
            let adopted = Adopted {
                route: copy.route.clone(),
                id: id.clone(),
                seq: copy.seq,
                attempt: copy.attempt,
                left: self.left(until),
            };
            Some((consumer, adopted))
        });
        let mut copies: Vec<(ConsumerId, Adopted)> = copies.collect();
        copies.sort_unstable_by(|(a, one), (b, other)| (a, &one.id).cmp(&(b, &other.id)));
        copies.into_iter()
    }

    pub(super) fn left(&self, until: Tick) -> Duration {
        Duration::from_nanos(until.since(self.now.monotonic))
    }
}
