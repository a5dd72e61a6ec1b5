//! Handles acks, nacks, timeouts and copies that are not sent.

use std::{sync::Arc, time::Duration};

use race_wheel::Tick;

use super::{
    ConsumerId, CopyOf, ReplyTo, Scheduler, Token, consumer::Copy, round::GivenBack, task::Change,
    tasks::Left, timers::CopyEnd,
};
use crate::ledger::{Op, Subject};
use hyper_delay_protocol::{Named, Reply};
use hyper_delay_store::Store;

/// The characters of the reason of a dead letter, at most.
const REASON: usize = 200;

impl<S: Store> Scheduler<S> {
    /// A consumer acknowledges a delivery: the task goes, if it still has that revision.
    pub(super) fn acked(&mut self, consumer: ConsumerId, named: Named, confirm: Option<ReplyTo>) {
        if self.lost_copy_answered(consumer, &named) {
            return self.unknown_ack(named, confirm);
        }
        let in_flight = self.consumers.answered(consumer, &named);
        let is_in_flight = in_flight.is_some();
        let copy = in_flight.or_else(|| self.consumers.answered_late(consumer, &named));
        match copy {
            Some(copy) => self.ack_copy(consumer, (named.id, copy), is_in_flight, confirm),
            None => self.unknown_ack(named, confirm),
        }
    }

    /// A copy is acknowledged, which is no longer among those of its consumer.
    pub(super) fn ack_copy(
        &mut self,
        consumer: ConsumerId,
        (id, copy): (Arc<str>, Copy),
        is_in_flight: bool,
        confirm: Option<ReplyTo>,
    ) {
        if let Some(end) = copy.end {
            self.timers.cancel(end);
        }
        if is_in_flight && let Some(round) = self.tasks.round(copy.seq) {
            let taken = self.now.monotonic.since(round.begun());
            self.metrics.ack_time.observe(taken / 1_000);
        }
        self.finish(copy.seq, &id);
        let subject = Subject {
            route: copy.route,
            id,
            seq: copy.seq,
            attempt: copy.attempt,
        };
        let token = confirm.map_or(Token::None, Token::Reply);
        self.submit(Op::Finish(subject), token);
        if is_in_flight {
            self.dispatch_for(consumer);
        }
    }

    /// Ends the round or wait of an acknowledged task; it stays in memory until the removal is
    /// committed.
    pub(super) fn finish(&mut self, seq: u64, id: &Arc<str>) {
        self.finish_inherited(seq, id);
        let left = self.tasks.commit(seq, Change::Finish, &mut self.timers);
        match left {
            Some(Left::Ready) => self.unqueue(seq),
            Some(Left::Round(round)) => self.lose_copies(&round, id, seq),
            Some(Left::Idle | Left::Committing(_)) | None => {}
        }
    }

    pub(super) fn unknown_ack(&mut self, named: Named, confirm: Option<ReplyTo>) {
        self.metrics.unknown_answers.add(1);
        if let Some(to) = confirm {
            let acked = Reply::Acked {
                id: named.id,
                route: named.route,
                removed: false,
            };
            self.reply(to, acked);
        }
    }

    /// A consumer gives a delivery back.
    pub(super) fn nacked(&mut self, consumer: ConsumerId, named: &Named, given_back: GivenBack) {
        let Some(copy) = self.consumers.answered(consumer, named) else {
            self.metrics.unknown_answers.add(1);
            self.lost_copy_answered(consumer, named);
            return;
        };
        self.metrics.nacks.add(1);
        if let Some(end) = copy.end {
            self.timers.cancel(end);
        }
        self.copy_failed(copy.seq, consumer, given_back);
        self.dispatch_for(consumer);
    }

    /// A consumer asks for more time to answer a delivery: its round ends `extend_ms` from now, and
    /// not earlier than it would have.
    pub(super) fn touched(&mut self, to: ReplyTo, named: Named, extend_ms: Option<u64>) {
        let copy = self.consumers.in_flight_of(to.consumer, &named);
        let copy = copy.map(|copy| (copy.seq, copy.route.clone(), copy.attempt, copy.end));
        let round = copy.and_then(|(seq, route, attempt, end)| {
            if let Some(end) = end {
                let copy = (to.consumer, &*named.id, seq);
                let until = self.touch_inherited(copy, &route, extend_ms, end)?;
                return Some((route, attempt, until));
            }
            let (_, round) = self.tasks.round_mut(seq)?;
            let longer = extend_ms.map_or(round.ack_timeout(), Duration::from_millis);
            round.extend(seq, self.now.after(longer), &mut self.timers);
            Some((route, attempt, round.until()))
        });
        let (route, attempt, deadline) = match round {
            Some((route, attempt, until)) => {
                let left = until.since(self.now.monotonic) / 1_000_000;
                let deadline = self.now.wall_millis().saturating_add(left);
                (Some(route), Some(attempt), Some(deadline))
            }
            None => (named.route, named.attempt, None),
        };
        let touched = Reply::Touched {
            id: named.id,
            route,
            attempt,
            deadline,
        };
        self.reply(to, touched);
    }

    /// Ignores an answer that names a copy of a task that was acknowledged through another copy,
    /// and frees the id. Returns whether the answer names one.
    pub(super) fn lost_copy_answered(&mut self, consumer: ConsumerId, named: &Named) -> bool {
        let copy = self.consumers.answered_lost(consumer, named);
        let found = copy.is_some();
        self.release(consumer, copy);
        found
    }

    /// Ends a copy that was removed from a consumer: its id, and perhaps credit, can be used again.
    pub(super) fn release(&mut self, consumer: ConsumerId, copy: Option<Copy>) {
        if let Some(copy) = copy {
            if let Some(end) = copy.end {
                self.timers.cancel(end);
            }
            self.dispatch_for(consumer);
        }
    }

    /// A copy was not sent, as its revision was gone.
    pub(super) fn unsent(&mut self, copy: &CopyOf) {
        let CopyOf { consumer, seq, id } = copy;
        let unsent = self.consumers.unsent(*consumer, id, *seq, None);
        self.release(*consumer, unsent);
    }

    /// A copy was not sent, as its connection ends.
    pub(super) fn unwritten(&mut self, copy: &CopyOf, attempt: u32) {
        if self.is_ending {
            return;
        }
        let CopyOf { consumer, seq, id } = copy;
        let unsent = self.consumers.unsent(*consumer, id, *seq, Some(attempt));
        if unsent.is_some() {
            self.copy_failed(*seq, *consumer, GivenBack::unwritten());
            self.release(*consumer, unsent);
        }
    }

    /// A copy was not sent, as its time to answer was nearly over when its turn came. The other
    /// copies of its round go on if the round was extended since.
    pub(super) fn sent_too_late(&mut self, copy: &CopyOf, attempt: u32, until: Tick) {
        if self.is_ending {
            return;
        }
        if let Some((_, round)) = self.tasks.round_mut(copy.seq)
            && round.holders().any(|holder| holder == copy.consumer)
        {
            let timeout = round.ack_timeout();
            if round.until() <= until {
                round.send_no_more();
            }
            // After a stall the round ends later, now or with the next tick.
            if round.until() <= until && !self.stalls.is_late(self.now.monotonic) {
                let suspect_until = self.now.after(timeout);
                self.consumers.took_nothing(copy.consumer, suspect_until);
            }
        }
        self.unwritten(copy, attempt);
    }

    /// A copy was not sent because of the content of the task: the task is dead, unless another
    /// consumer has a copy of the round, which can have been sent before.
    pub(super) fn undeliverable(&mut self, copy: &CopyOf, reason: &str) {
        let seq = copy.seq;
        if let Some((_, round)) = self.tasks.round_mut(seq) {
            if round.holders().any(|holder| holder != copy.consumer) {
                round.send_no_more();
                self.copy_failed(seq, copy.consumer, GivenBack::default());
            } else {
                let reason: String = reason.chars().take(REASON).collect();
                self.bury(seq, Some(reason.into()));
            }
        }
        self.unsent(copy);
    }

    /// The ack timeout of a round has passed: its unanswered copies are late.
    pub(super) fn round_timed_out(&mut self, seq: u64) {
        let Some((task, round)) = self.tasks.round_mut(seq) else {
            debug_assert!(false, "the end of a round cancels its timer");
            return;
        };
        if round.is_unknown() {
            return self.round_lost(seq);
        }
        let holders: Vec<ConsumerId> = round.holders().collect();
        let id = task.id.clone();
        task.last_consumer = holders.first().copied();
        let timeout = round.ack_timeout();
        self.round_failed(seq, GivenBack::default());
        for consumer in holders {
            self.overdue(consumer, &id, seq, timeout);
        }
    }

    /// The time to answer a copy is over for which no round waits. If its task has come up in the
    /// same tick, a round does, which ends by a timer of its own.
    pub(super) fn copy_timed_out(&mut self, end: &CopyEnd) {
        let state = self.consumers.get(end.consumer);
        if state.is_some_and(|state| state.ends_alone(&end.id, end.seq)) {
            self.overdue(end.consumer, &end.id, end.seq, end.ack_timeout);
        }
    }

    fn overdue(&mut self, consumer: ConsumerId, id: &str, seq: u64, timeout: Duration) {
        let suspect_until = self.now.after(timeout);
        if self.consumers.overdue(consumer, id, seq, suspect_until) {
            self.dispatch_for(consumer);
        }
    }

    /// The copy of a consumer was given back, or its connection is closed. The last copy that fails
    /// ends the round.
    pub(super) fn copy_failed(&mut self, seq: u64, consumer: ConsumerId, given_back: GivenBack) {
        let now = self.now.monotonic;
        let Some((task, round)) = self.tasks.round_mut(seq) else {
            return self.remote.inherited.failed(seq, consumer, given_back);
        };
        if round.fail(consumer, given_back, now) {
            task.last_consumer = Some(consumer);
            self.advance_round(seq);
        }
    }

    /// A round has failed, or has ended without an ack and without harm: the next one is due, now or
    /// later, or the task is dead.
    pub(super) fn round_failed(&mut self, seq: u64, given_back: GivenBack) {
        let Some((task, round)) = self.tasks.round_mut(seq) else {
            return;
        };
        let is_failure = match given_back.has_failed() {
            true => {
                task.unfailed = None;
                true
            }
            false => task.unfailed.get_or_insert_default().is_one_too_many(),
        };
        task.failures = task.failures.saturating_add(u32::from(is_failure));
        let failures = task.failures;
        let terms = self.settings.terms_of(task);
        if task.is_expired(self.now) {
            return self.expire(seq);
        }
        if let Some(at) = task.expires_at() {
            // The index may have been read beyond it, if the clock was set back since.
            self.expiry.add(at);
        }
        let most = terms.max_attempts.or(self.settings.max_attempts);
        if is_failure && most.is_some_and(|most| failures >= most) {
            return self.bury(seq, given_back.reason);
        }
        let mut backoff = |failures| self.settings.backoff(failures, &terms, &mut self.random);
        let delay = match given_back.delay_ms {
            Some(delay) => delay,
            None if is_failure => backoff(failures),
            None => {
                let (now, rest) = (self.now.monotonic, Duration::from_millis(backoff(1)));
                let until = self.now.after(rest);
                if let Some(unfailed) = &mut task.unfailed {
                    for consumer in round.asked().chain(task.last_consumer) {
                        unfailed.rest(consumer, until, now);
                    }
                }
                0
            }
        };
        task.at = self.now.wall_millis().saturating_add(delay);
        task.is_parked = false;
        let op = Op::Retry {
            at: task.at,
            attempt: task.attempt,
            failures,
            subject: task.subject(seq),
        };
        let due = self.now.after(Duration::from_millis(delay));
        self.tasks.commit(seq, Change::Retry, &mut self.timers);
        let has_failed = is_failure;
        self.submit(op, Token::RetryAt { due, has_failed });
    }

    /// Makes a task dead. `reason` says why its content cannot be delivered, or is that of the nack
    /// that ended its last round.
    fn bury(&mut self, seq: u64, reason: Option<Arc<str>>) {
        if let Some(task) = self.tasks.get(seq)
            && let Some(at) = task.expires_at()
        {
            if task.is_expired(self.now) {
                return self.expire(seq);
            }
            self.expiry.add(at);
        }
        self.tasks.commit(seq, Change::Bury, &mut self.timers);
        let Some(task) = self.tasks.get(seq) else {
            return;
        };
        let op = Op::Bury {
            at: self.now.wall_millis(),
            attempt: task.attempt,
            failures: task.failures,
            subject: task.subject(seq),
            reason,
        };
        self.submit(op, Token::None);
    }
}
