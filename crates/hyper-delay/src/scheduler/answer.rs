//! What an answer means, or that there is none.

use super::{
    ConsumerId, Scheduler, Token,
    hedge::RoundNumber,
    live::{Live, State},
};
use crate::{
    ledger::{Op, Subject},
    protocol::Named,
    store::Store,
};

impl<S: Store> Scheduler<S> {
    /// An ack: whatever the ledger has of that revision goes.
    pub(super) fn acked(&mut self, consumer: ConsumerId, named: Named, confirm: Option<Token>) {
        if self.lost_is_answered(consumer, &named) {
            self.unknown(consumer, named, confirm);
            return;
        }
        let Some(state) = self.consumers.get_mut(&consumer) else {
            return;
        };
        let (copy, freed) = match state.answered(&named) {
            Some(copy) => (Some(copy), true),
            None => (state.answered_late(&named), false),
        };
        let Some(copy) = copy else {
            self.unknown(consumer, named, confirm);
            return;
        };
        if let Some(timer) = copy.timer {
            self.wheel.cancel(timer);
        }
        let subject = Subject {
            route: copy.route,
            id: named.id,
            seq: copy.seq,
            attempt: copy.attempt,
        };
        self.settle(copy.seq, Some(consumer));
        self.submit(Op::Finish(subject), confirm.unwrap_or(Token::Own(None)));
        if freed {
            self.dispatch_for(consumer);
        }
    }

    pub(super) fn nacked(&mut self, consumer: ConsumerId, named: Named, delay_ms: Option<u64>) {
        let copy = self
            .consumers
            .get_mut(&consumer)
            .and_then(|state| state.answered(&named));
        let Some(copy) = copy else {
            self.unknown_acks += 1;
            self.lost_is_answered(consumer, &named);
            return;
        };
        if let Some(timer) = copy.timer {
            self.wheel.cancel(timer);
        }
        self.copy_failed(copy.seq, consumer, delay_ms);
        self.dispatch_for(consumer);
    }

    /// The time for an answer is up.
    pub(super) fn overdue(&mut self, consumer: ConsumerId, id: &str) {
        let Some(state) = self.consumers.get_mut(&consumer) else {
            return;
        };
        if state.forget(id) {
            self.dispatch_for(consumer);
            return;
        }
        let copy = state.overdue(id);
        if let Some(copy) = copy {
            match self.hedged(copy.seq, consumer) {
                Some(round) => self.hedge_overdue(round, consumer),
                None => self.copy_failed(copy.seq, consumer, None),
            }
            self.dispatch_for(consumer);
        }
    }

    /// The hedged round under way, if a consumer has a copy of it.
    fn hedged(&self, seq: u64, consumer: ConsumerId) -> Option<RoundNumber> {
        match &self.tasks.get(&seq)?.state {
            State::InFlight { copies, round } if copies.iter().any(|has| has == consumer) => *round,
            _ => None,
        }
    }

    /// A copy will not be acknowledged in time. The last that fails ends the round.
    pub(super) fn copy_failed(&mut self, seq: u64, consumer: ConsumerId, delay_ms: Option<u64>) {
        let Some(task) = self.tasks.get_mut(&seq) else {
            return;
        };
        let State::InFlight { copies, round } = &mut task.state else {
            return;
        };
        copies.remove(consumer);
        task.avoid = Some(consumer);
        match *round {
            Some(round) => self.hedge_failed(round, consumer, delay_ms),
            None if copies.is_empty() => self.round_failed(seq, delay_ms),
            None => {}
        }
    }

    /// Nobody did it: the next round is put off, or the task is dead.
    pub(super) fn round_failed(&mut self, seq: u64, delay_ms: Option<u64>) {
        let Some(task) = self.tasks.get_mut(&seq) else {
            return;
        };
        task.state = State::Changing;
        task.failures = task.failures.saturating_add(1);
        let (attempt, failures) = (task.attempt, task.failures);
        let subject = task.subject(seq);
        let now = self.now.wall_millis();
        if self
            .settings
            .max_attempts
            .is_some_and(|most| failures >= most)
        {
            let op = Op::Bury {
                subject,
                at: now,
                attempt,
                failures,
            };
            self.submit(op, Token::Own(None));
            return;
        }
        let delay = delay_ms.unwrap_or_else(|| self.backoff(failures));
        task_due(&mut self.tasks, seq, now.saturating_add(delay));
        let due = self.now.after(std::time::Duration::from_millis(delay));
        let op = Op::Retry {
            subject,
            at: now.saturating_add(delay),
            attempt,
            failures,
        };
        self.submit(op, Token::Own(Some(due)));
    }

    /// Milliseconds to wait after so many failures: doubled with each, and drawn from the upper half of that.
    fn backoff(&mut self, failures: u32) -> u64 {
        let doublings = failures.saturating_sub(1).min(63);
        let most = self
            .settings
            .retry_delay_millis
            .saturating_mul(1 << doublings)
            .min(self.settings.max_retry_delay_millis);
        self.random.u64(most / 2..=most)
    }
}

fn task_due(tasks: &mut rustc_hash::FxHashMap<u64, Live>, seq: u64, at: u64) {
    if let Some(task) = tasks.get_mut(&seq) {
        task.at = at;
        task.parked = false;
    }
}
