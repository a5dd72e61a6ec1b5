//! From due to in flight: which consumer gets a task.

use std::{sync::Arc, time::Duration};

use race_wheel::Tick;

use super::{
    CommitToken, ConsumerId, CreditChange, Scheduler, SchedulerMessage, SentCopy,
    consumer::{Consumer, DeliveryCopy},
    consumer_table::NoConsumer,
    declined_rounds::AvoidedConsumers,
    rate_limits::RateKey,
    round::{EndedRound, Round, RoundStep},
    settings::RouteSettings,
    task::PendingChange,
    timers::{CopyTimeout, Timer},
};
use crate::ledger::{Op, Position};
use hyper_delay_store::Store;

/// A task whose consumers rest is offered again after this time, and this much more for each other
/// one, so that many of them cost little.
const REST: Duration = Duration::from_millis(20);
const REST_OF_EACH: Duration = Duration::from_micros(50);

impl<S: Store> Scheduler<S> {
    /// A task is due: it is queued on its route, or parked if its route has no consumer or no room.
    pub(super) fn offer(&mut self, seq: u64) {
        if self.hold_for_move(seq) || self.claim_inherited(seq) {
            return;
        }
        let is_full = self.tasks.len() > 2 * self.settings.window_tasks;
        let Some(task) = self.tasks.get(seq) else {
            return;
        };
        if self.paused.contains(&task.route) {
            return self.park(seq);
        }
        let rest_end = task.rest_end(self.now.monotonic);
        let limit = self.settings.ready;
        match (self.routes.get_mut(&task.route), rest_end) {
            (Some(route), _) if route.may_queue(limit) && (!is_full || route.queued() == 0) => {
                route.queue(task.position(seq));
                let route = task.route.clone();
                self.tasks.queue(seq);
                self.dispatch(&route);
            }
            // On disk nothing is known of consumers that rest.
            (Some(_), Some(until)) => self.wait_for_rest_end(seq, until),
            _ => self.park(seq),
        }
    }

    /// A due task waits on disk until a consumer has room. While the server ends, it stays as it is
    /// on disk.
    pub(super) fn park(&mut self, seq: u64) {
        if self.is_shutting_down {
            return;
        }
        self.tasks
            .commit(seq, PendingChange::Park, &mut self.timers);
        if let Some(task) = self.tasks.get(seq) {
            let op = Op::Park(task.revision(seq));
            self.submit(op, CommitToken::None);
        }
    }

    /// Gives the queued tasks of a route to the consumers that have room.
    pub(super) fn dispatch(&mut self, name: &Arc<str>) {
        if self.is_shutting_down || self.takeover.holds_deliveries() {
            return;
        }
        let mut from = Position::default();
        let mut lacks_consumer = false;
        let mut has_rested = false;
        while let Some(route) = self.routes.get_mut(name) {
            let Some(position) = route.first_ready(from) else {
                break;
            };
            let settings = route.settings();
            let (now, timers) = (self.now, &mut self.timers);
            if self.rate_limits.holds_back(name, settings, now, timers) {
                break;
            }
            let Some(task) = self.tasks.get(position.seq) else {
                debug_assert!(false, "a queued task is in memory");
                route.unqueue(position);
                continue;
            };
            if task.is_expired(self.now) {
                self.expire_task(position.seq);
                continue;
            }
            let (avoided, now) = (task.avoided(), self.now.monotonic);
            let candidates = route.in_rotation();
            match self.consumers.choose(candidates, &task.id, avoided, now) {
                Ok((place, consumer)) => {
                    route.unqueue(position);
                    route.advance_rotation(place);
                    self.begin_round(position.seq, consumer, settings);
                }
                Err(no_consumer) => {
                    lacks_consumer = true;
                    match no_consumer {
                        NoConsumer::NoCredit => break,
                        NoConsumer::IdInFlight => from = position.next(),
                        NoConsumer::Resting(until) => {
                            route.unqueue(position);
                            has_rested = true;
                            self.wait_for_rest_end(position.seq, until);
                        }
                    }
                }
            }
        }
        self.routes
            .request_refill_if_short(name, self.settings.ready);
        self.queue_for_credit(name, lacks_consumer, has_rested);
    }

    /// The consumers of a due task that have room rest, the first of them until this moment. The task
    /// is looked at again earlier: another consumer can have room, or be new. If too many tasks wait
    /// so, it waits as after a failure.
    fn wait_for_rest_end(&mut self, seq: u64, until: Tick) {
        let resting = self.tasks.resting();
        if resting >= self.settings.most_resting() {
            return self.postpone(seq, until);
        }
        let resting = u32::try_from(resting).unwrap_or(u32::MAX);
        let look = REST + REST_OF_EACH.saturating_mul(resting);
        let until = until.min(self.now.after(look));
        self.tasks.wait_for_rest_end(seq, until, &mut self.timers);
    }

    /// A due task waits until then, for all consumers, and on disk if that is not near.
    fn postpone(&mut self, seq: u64, until: Tick) {
        if self.is_shutting_down {
            return;
        }
        let left = until.since(self.now.monotonic).div_ceil(1_000_000);
        let Some(task) = self.tasks.get_mut(seq) else {
            return;
        };
        let op = task.retry_at(seq, self.now.wall_millis().saturating_add(left), None);
        self.tasks
            .commit(seq, PendingChange::Retry, &mut self.timers);
        let token = CommitToken::RetryAt {
            due: until,
            has_failed: false,
        };
        self.submit(op, token);
    }

    /// Takes a task from the queue of its route, as it is not to be delivered any more.
    pub(super) fn unqueue(&mut self, seq: u64) {
        if let Some(task) = self.tasks.get(seq) {
            let position = task.position(seq);
            self.routes
                .unqueue(&task.route, position, self.settings.ready);
        }
    }

    /// A route that was held back may send deliveries again.
    pub(super) fn resume_rate_limited(&mut self, name: &Arc<str>) {
        self.rate_limits
            .end_wait(&RateKey::Deliveries(name.clone()));
        self.dispatch(name);
        self.refill(name);
    }

    /// Queues the route with its consumers, to be served when one has credit. If a task of it lacks
    /// a consumer, more credit is asked for, also if the task waits as others rest.
    fn queue_for_credit(&mut self, name: &Arc<str>, lacks_consumer: bool, has_rested: bool) {
        let route = self.routes.get(name);
        let Some(route) = route.filter(|route| has_rested || route.has_work()) else {
            return;
        };
        for consumer in route.consumers() {
            if let Some(state) = self.consumers.get_mut(*consumer) {
                state.queue_route(name);
                if lacks_consumer && state.request_credit() {
                    let message = SchedulerMessage::Credit(CreditChange::Wanted);
                    self.messages.push((*consumer, message));
                }
            }
        }
    }

    /// Serves the routes that wait for a connection to have room, in turn, while it has.
    pub(super) fn dispatch_for(&mut self, consumer: ConsumerId) {
        let Some(state) = self.consumers.get(consumer) else {
            return;
        };
        let waiting = state.waiting();
        if state.owes_credit() {
            self.return_unused_credit(consumer);
        }
        for _ in 0..waiting {
            let state = self.consumers.get_mut(consumer);
            let Some(route) = state.and_then(Consumer::next_waiting) else {
                break;
            };
            self.dispatch(&route);
            self.refill(&route);
        }
        self.request_credit(consumer);
        let state = self.consumers.get_mut(consumer);
        if state.is_some_and(Consumer::withdraw_credit_request) {
            let message = SchedulerMessage::Credit(CreditChange::Unwanted);
            self.messages.push((consumer, message));
        }
    }

    fn begin_round(&mut self, seq: u64, consumer: ConsumerId, settings: RouteSettings) {
        let Some(task) = self.tasks.get_mut(seq) else {
            return;
        };
        // The consumer may have left a copy of an earlier task of this name unanswered: the number
        // of that round is not used again.
        let state = self.consumers.get(consumer);
        let late = state.and_then(|state| state.late_attempt(&task.route, &task.id));
        task.begin_attempt(late.unwrap_or(0));
        let late = (self.now.wall_nanos / 1_000).saturating_sub(task.at().saturating_mul(1_000));
        self.metrics.lateness.observe(late);
        let times = (
            self.now.monotonic,
            task.ack_timeout().unwrap_or(settings.ack_timeout),
        );
        let hedge = settings.hedge;
        let round = Round::begin(seq, consumer, times, hedge, &mut self.timers);
        self.tasks.begin_round(seq, round);
        self.send_copy(seq, consumer);
        if hedge.is_some() {
            self.advance_round(seq);
        }
    }

    /// Does what a round wants: sends its next copy, waits, or fails it.
    pub(super) fn advance_round(&mut self, seq: u64) {
        let now = self.now.monotonic;
        while let Some((_, round)) = self.tasks.round_mut(seq) {
            match round.step(seq, now, &mut self.timers) {
                RoundStep::Wait => return,
                RoundStep::Failed(copy_end) => return self.fail_round(seq, copy_end),
                RoundStep::Send => {}
            }
            let next = self.next_consumer(seq);
            let Some((_, round)) = self.tasks.round_mut(seq) else {
                return;
            };
            match next {
                None => round.stop_sending(),
                Some(consumer) => {
                    round.record_sent(consumer);
                    self.send_copy(seq, consumer);
                }
            }
        }
    }

    /// Chooses a consumer that has had no copy in the current round. Chooses none if the time of
    /// the round has nearly passed: the copy would not be written.
    fn next_consumer(&self, seq: u64) -> Option<ConsumerId> {
        let now = self.now.monotonic;
        let (task, round) = (self.tasks.get(seq)?, self.tasks.round(seq)?);
        let is_over = round.write_by() <= now || task.is_expired(self.now);
        let is_held = self.is_shutting_down || self.takeover.holds_deliveries();
        if is_held || self.paused.contains(&task.route) || is_over {
            return None;
        }
        // A consumer that left a copy of this name and round unanswered, of an earlier revision,
        // could not tell them apart.
        let confuses = |consumer: &ConsumerId| {
            let state = self.consumers.get(*consumer);
            let late = state.and_then(|state| state.late_attempt(&task.route, &task.id));
            late.is_some_and(|late| late >= task.attempt())
        };
        let candidates = self.routes.get(&task.route)?.in_rotation();
        let candidates = candidates
            .filter(|consumer| !round.has_contacted(*consumer))
            .filter(|consumer| !confuses(consumer));
        let avoided = AvoidedConsumers {
            last: None,
            ..task.avoided()
        };
        let chosen = self.consumers.choose(candidates, &task.id, avoided, now);
        chosen.ok().map(|(_, consumer)| consumer)
    }

    fn send_copy(&mut self, seq: u64, consumer: ConsumerId) {
        let (Some(task), Some(round)) = (self.tasks.get(seq), self.tasks.round(seq)) else {
            return;
        };
        let copy = DeliveryCopy::new(task.route.clone(), task.id.clone(), seq, task.attempt());
        let is_added = self.consumers.add_copy(consumer, copy);
        debug_assert!(
            is_added,
            "a consumer was chosen that has no copy of the task"
        );
        let route = self.routes.get(&task.route);
        if let Some(rate) = route.and_then(|route| route.settings().deliveries_per_second) {
            let of = RateKey::Deliveries(task.route.clone());
            self.rate_limits.spend(of, rate, self.now.monotonic);
        }
        let message = SchedulerMessage::Deliver(SentCopy {
            seq,
            route: task.route.clone(),
            id: task.id.clone(),
            due: task.at(),
            attempt: task.attempt(),
            until: round.until(),
            write_by: round.write_by(),
            expires_at: task.expires_at(),
        });
        self.messages.push((consumer, message));
    }

    /// The task is acknowledged: the consumers lose their unanswered copies of the round. After a
    /// late ack, the consumer that acknowledged can have one, too.
    pub(super) fn lose_copies(&mut self, round: &EndedRound, seq: u64) {
        for consumer in round.holders() {
            if self.lose_copy(consumer, seq) {
                self.arm_copy_timeout(consumer, seq, round);
                self.dispatch_for(consumer);
            }
        }
    }

    /// The task of a copy was acknowledged through another copy. Returns false if its consumer does
    /// not have it in flight.
    pub(super) fn lose_copy(&mut self, consumer: ConsumerId, seq: u64) -> bool {
        let lost = self.consumers.mark_lost(consumer, seq);
        let message = lost.map(|id| (consumer, SchedulerMessage::Lost(seq, id)));
        let is_lost = message.is_some();
        self.messages.extend(message);
        is_lost
    }

    /// The task is gone: the copies of the round stay with their consumers, whose answers change
    /// nothing, until the round would have ended.
    pub(super) fn abandon_copies(&mut self, round: &EndedRound, seq: u64) {
        for consumer in round.holders() {
            self.arm_copy_timeout(consumer, seq, round);
        }
    }

    /// No round waits for a copy any more: it gets a timer of its own.
    fn arm_copy_timeout(&mut self, consumer: ConsumerId, seq: u64, round: &EndedRound) {
        let timer = Timer::CopyTimeout(Box::new(CopyTimeout {
            consumer,
            seq,
            ack_timeout: round.ack_timeout(),
        }));
        let end = self.timers.insert(round.until(), timer);
        if !self.consumers.set_copy_timer(consumer, seq, end) {
            self.timers.cancel(end);
        }
    }
}
