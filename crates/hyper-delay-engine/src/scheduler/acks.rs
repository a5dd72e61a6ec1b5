//! Handles acks, nacks, timeouts and copies that are not sent.

use std::time::Duration;

use race_wheel::Tick;

use super::{
    CommitToken, ConsumerId, CopyId, DeliveryName, Nack, RequestId, RequestNumber, Scheduler,
    UnsentReason,
    consumer::{AckedCopy, DeliveryCopy},
    round::{CopyEnd, CopyEndKind},
    task::{PendingChange, TaskInMemory},
    task_table::PreviousState,
    timers::CopyTimeout,
};
use crate::ledger::{Op, TaskRevision};
use hyper_delay_protocol::{FailureKind, Reply};
use hyper_delay_store::Store;

/// The characters of the reason of a dead letter, at most.
const REASON: usize = 200;

impl<S: Store> Scheduler<S> {
    /// A consumer acknowledges a delivery: the task is removed if it still has that revision. If this
    /// scheduler does not know the delivery, an earlier leader has made it.
    pub(crate) fn ack(
        &mut self,
        consumer: ConsumerId,
        revision: TaskRevision,
        confirm: Option<RequestNumber>,
    ) {
        let confirm = confirm.map(|number| RequestId { consumer, number });
        match self.consumers.take_acked(consumer, &revision) {
            Some(AckedCopy::Lost(copy)) => {
                self.release_copy(consumer, Some(copy));
                self.reply_to_unknown_ack(revision, confirm);
            }
            Some(AckedCopy::InFlight(copy)) => self.ack_copy(consumer, revision, &copy, confirm),
            Some(AckedCopy::Late) => {
                self.finish_task(revision.seq);
                self.submit_finish(revision, confirm);
            }
            None => self.ack_unknown_copy(revision, confirm),
        }
    }

    /// A copy is acknowledged that the consumer does not have here.
    fn ack_unknown_copy(&mut self, revision: TaskRevision, confirm: Option<RequestId>) {
        let seq = revision.seq;
        let is_other = |task: &TaskInMemory| task.id != revision.id || task.route != revision.route;
        if self.tasks.get(seq).is_some_and(is_other) {
            return self.reply_to_unknown_ack(revision, confirm);
        }
        self.finish_task(seq);
        if !self.tasks.contains(seq) {
            self.inherited.begin_finish(seq);
        }
        self.submit_finish(revision, confirm);
    }

    fn submit_finish(&mut self, revision: TaskRevision, confirm: Option<RequestId>) {
        let token = confirm.map_or(CommitToken::None, CommitToken::Reply);
        self.submit(Op::Finish(revision), token);
    }

    /// A copy in flight is acknowledged, which is no longer among those of its consumer.
    fn ack_copy(
        &mut self,
        consumer: ConsumerId,
        revision: TaskRevision,
        copy: &DeliveryCopy,
        confirm: Option<RequestId>,
    ) {
        if let Some(end) = copy.end {
            self.timers.cancel(end);
        }
        if let Some(round) = self.tasks.round(copy.seq) {
            let taken = self.now.monotonic.since(round.begun_at());
            self.metrics.ack_time.observe(taken / 1_000);
        }
        self.finish_task(copy.seq);
        self.submit_finish(revision, confirm);
        self.dispatch_for(consumer);
    }

    /// Ends the round or wait of an acknowledged task; it stays in memory until the removal is
    /// committed.
    fn finish_task(&mut self, seq: u64) {
        self.finish_inherited(seq);
        let left = self
            .tasks
            .commit(seq, PendingChange::Finish, &mut self.timers);
        match left {
            Some(PreviousState::Ready) => self.unqueue(seq),
            Some(PreviousState::Round(round)) => self.lose_copies(&round, seq),
            Some(PreviousState::Idle | PreviousState::Committing(_)) | None => {}
        }
    }

    fn reply_to_unknown_ack(&mut self, revision: TaskRevision, confirm: Option<RequestId>) {
        self.metrics.unknown_answers.add(1);
        if let Some(to) = confirm {
            let acked = Reply::Acked {
                id: revision.id,
                route: Some(revision.route),
                removed: false,
            };
            self.reply(to, acked);
        }
    }

    /// A consumer returns a delivery with a nack. Returns whether it had it in flight.
    pub(crate) fn nack(&mut self, consumer: ConsumerId, nack: Nack) -> bool {
        let Nack {
            revision,
            delay_ms,
            reason,
            failed,
        } = nack;
        let Some(copy) = self.consumers.take_nacked(consumer, &revision) else {
            self.metrics.unknown_answers.add(1);
            self.free_lost_copy(consumer, &revision);
            return false;
        };
        self.metrics.nacks.add(1);
        if let Some(end) = copy.end {
            self.timers.cancel(end);
        }
        let most = self.settings.max_delay_millis;
        let copy_end = CopyEnd {
            delay_ms: delay_ms.map(|delay| delay.min(most)),
            reason,
            kind: CopyEndKind::of_nack(failed),
            failure: FailureKind::Nack,
        };
        self.fail_copy(copy.seq, consumer, copy_end);
        self.dispatch_for(consumer);
        true
    }

    /// A consumer asks for more time to answer a delivery: its round ends `extend_ms` from now, and
    /// not earlier than it would have.
    pub(crate) fn touch(&mut self, to: RequestId, delivery: DeliveryName, extend_ms: Option<u64>) {
        let copy = self.consumers.in_flight_of(to.consumer, &delivery);
        let copy = copy.map(|copy| (copy.seq, copy.end));
        let until = copy.and_then(|(seq, end)| {
            if let Some(end) = end {
                let copy = (to.consumer, seq);
                return self.touch_inherited(copy, &delivery.route, extend_ms, end);
            }
            let (_, round) = self.tasks.round_mut(seq)?;
            let longer = extend_ms.map_or(round.ack_timeout(), Duration::from_millis);
            round.extend(seq, self.now.after(longer), &mut self.timers);
            Some(round.until())
        });
        let deadline = until.map(|until| {
            let left = until.since(self.now.monotonic) / 1_000_000;
            self.now.wall_millis().saturating_add(left)
        });
        let DeliveryName { route, id, attempt } = delivery;
        let touched = Reply::Touched {
            id,
            route: Some(route),
            attempt: Some(attempt),
            deadline,
        };
        self.reply(to, touched);
    }

    /// Frees the id of a copy of a task that was acknowledged through another copy.
    fn free_lost_copy(&mut self, consumer: ConsumerId, revision: &TaskRevision) {
        let copy = self.consumers.take_lost(consumer, revision);
        self.release_copy(consumer, copy);
    }

    /// Ends a copy that was removed from a consumer: its id, and perhaps credit, can be used again.
    pub(super) fn release_copy(&mut self, consumer: ConsumerId, copy: Option<DeliveryCopy>) {
        if let Some(copy) = copy {
            if let Some(end) = copy.end {
                self.timers.cancel(end);
            }
            self.dispatch_for(consumer);
        }
    }

    /// A copy was not sent.
    pub(crate) fn not_sent(&mut self, copy: &CopyId, why: &UnsentReason) {
        match why {
            UnsentReason::Gone => self.handle_unsent(copy),
            UnsentReason::Unwritten { attempt } => self.handle_unwritten(copy, *attempt),
            UnsentReason::TooLate { attempt, until } => {
                self.handle_sent_too_late(copy, *attempt, *until);
            }
            UnsentReason::Void { attempt } => self.handle_voided(copy, *attempt),
            UnsentReason::Undeliverable(reason) => self.handle_undeliverable(copy, reason),
        }
    }

    /// A copy was not sent, as its revision was gone.
    fn handle_unsent(&mut self, copy: &CopyId) {
        let CopyId { consumer, seq, .. } = copy;
        let unsent = self.consumers.take_unsent(*consumer, *seq, None);
        self.release_copy(*consumer, unsent);
    }

    /// A copy was not sent, as its connection ends.
    fn handle_unwritten(&mut self, copy: &CopyId, attempt: u32) {
        if self.is_shutting_down {
            return;
        }
        let CopyId { consumer, seq, .. } = copy;
        let unsent = self.consumers.take_unsent(*consumer, *seq, Some(attempt));
        if unsent.is_some() {
            self.fail_copy(*seq, *consumer, CopyEnd::unwritten());
            self.release_copy(*consumer, unsent);
        }
    }

    /// A copy was not sent, as its time to answer was nearly over when its turn came. The other
    /// copies of its round stay in flight if the round was extended since.
    fn handle_sent_too_late(&mut self, copy: &CopyId, attempt: u32, until: Tick) {
        if self.is_shutting_down {
            return;
        }
        if let Some((_, round)) = self.tasks.round_mut(copy.seq)
            && round.holders().any(|holder| holder == copy.consumer)
        {
            let timeout = round.ack_timeout();
            if round.until() <= until {
                round.stop_sending();
            }
            // After a stall the round ends later, now or with the next tick.
            if round.until() <= until && !self.stalls.is_late(self.now.monotonic) {
                let suspect_until = self.now.after(timeout);
                self.consumers.suspect(copy.consumer, suspect_until);
            }
        }
        self.handle_unwritten(copy, attempt);
    }

    /// A copy was not sent because of the content of the task: the task is dead, unless another
    /// consumer has a copy of the round, which can have been sent before.
    fn handle_undeliverable(&mut self, copy: &CopyId, reason: &str) {
        let seq = copy.seq;
        if let Some((_, round)) = self.tasks.round_mut(seq) {
            let reason: String = reason.chars().take(REASON).collect();
            let end = CopyEnd::undeliverable(reason.into());
            if round.holders().any(|holder| holder != copy.consumer) {
                round.stop_sending();
                self.fail_copy(seq, copy.consumer, end);
            } else {
                self.bury(seq, end);
            }
        }
        self.handle_unsent(copy);
    }

    /// The ack timeout of a round has passed: its unanswered copies are late.
    pub(super) fn round_timed_out(&mut self, seq: u64) {
        let Some((task, round)) = self.tasks.round_mut(seq) else {
            debug_assert!(false, "the end of a round cancels its timer");
            return;
        };
        if round.is_unreported() {
            return self.lose_round(seq);
        }
        let holders: Vec<ConsumerId> = round.holders().collect();
        task.avoid(holders.first().copied());
        let timeout = round.ack_timeout();
        self.fail_round(seq, CopyEnd::timed_out());
        for consumer in holders {
            self.mark_copy_late(consumer, seq, timeout);
        }
    }

    /// The time to answer a copy is over for which no round waits. If its task was loaded in the
    /// same tick, a round does, which ends by a timer of its own.
    pub(super) fn copy_timed_out(&mut self, end: &CopyTimeout) {
        let state = self.consumers.get(end.consumer);
        let copy = state.and_then(|state| state.copy(end.seq));
        if copy.is_some_and(|copy| copy.end.is_some()) {
            self.mark_copy_late(end.consumer, end.seq, end.ack_timeout);
        }
    }

    fn mark_copy_late(&mut self, consumer: ConsumerId, seq: u64, timeout: Duration) {
        let suspect_until = self.now.after(timeout);
        if self.consumers.time_out(consumer, seq, suspect_until) {
            self.dispatch_for(consumer);
        }
    }

    /// A consumer returned its copy with a nack, or its connection is closed. The last copy that
    /// fails ends the round.
    pub(super) fn fail_copy(&mut self, seq: u64, consumer: ConsumerId, copy_end: CopyEnd) {
        let now = self.now.monotonic;
        let Some((task, round)) = self.tasks.round_mut(seq) else {
            return self.inherited.fail_copy(seq, consumer, copy_end);
        };
        if round.fail(consumer, copy_end, now) {
            task.avoid(Some(consumer));
            self.advance_round(seq);
        }
    }

    /// A round has failed, or has ended without an ack and without a failure: the next one is due,
    /// now or later, or the task is dead.
    pub(super) fn fail_round(&mut self, seq: u64, copy_end: CopyEnd) {
        let Some((task, round)) = self.tasks.round_mut(seq) else {
            return;
        };
        let is_failure = task.end_round(copy_end.is_failure());
        let failures = task.failures();
        let terms = self.settings.terms_of(task);
        if task.is_expired(self.now) {
            return self.expire_task(seq);
        }
        if let Some(at) = task.expires_at() {
            // The index may have been read beyond it, if the clock was set back since.
            self.expiry.add(at);
        }
        let most = terms.max_attempts.or(self.settings.max_attempts);
        if is_failure && most.is_some_and(|most| failures >= most) {
            return self.bury(seq, copy_end);
        }
        let mut backoff = |failures| self.settings.backoff(failures, &terms, &mut self.random);
        let delay = match copy_end.delay_ms {
            Some(delay) => delay,
            None if is_failure => backoff(failures),
            None => {
                let (now, rest) = (self.now.monotonic, Duration::from_millis(backoff(1)));
                let until = self.now.after(rest);
                task.rest(round.contacted(), until, now);
                0
            }
        };
        let now = self.now.wall_millis();
        let failure = is_failure.then(|| copy_end.into_failure(now));
        let op = task.retry_at(seq, now.saturating_add(delay), failure);
        let due = self.now.after(Duration::from_millis(delay));
        self.tasks
            .commit(seq, PendingChange::Retry, &mut self.timers);
        let has_failed = is_failure;
        self.submit(op, CommitToken::RetryAt { due, has_failed });
    }

    /// Makes a task dead. The reason of the end says why its content cannot be delivered, or is that
    /// of the nack that ended its last round.
    fn bury(&mut self, seq: u64, end: CopyEnd) {
        if let Some(task) = self.tasks.get(seq)
            && let Some(at) = task.expires_at()
        {
            if task.is_expired(self.now) {
                return self.expire_task(seq);
            }
            self.expiry.add(at);
        }
        self.tasks
            .commit(seq, PendingChange::Bury, &mut self.timers);
        let Some(task) = self.tasks.get(seq) else {
            return;
        };
        let op = task.burial(seq, self.now.wall_millis(), end);
        self.submit(op, CommitToken::None);
    }
}
