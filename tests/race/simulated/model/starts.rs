//! How an attempt starts and ends.

use race::{CatchUp, OnFailure, observe::Cause, policy::Permit};

use super::{
    super::{End, plan::Failing},
    ATTEMPT, Model, NEVER, Running,
};

impl Model<'_> {
    pub(super) fn cause(&self) -> Cause {
        if self.starts() == 0 {
            Cause::First
        } else if self.is_called() {
            self.call
        } else if self.running.is_empty() {
            Cause::Idle
        } else {
            Cause::Delay
        }
    }

    /// A failure, or that none is running, makes the next start due, no later than its delay does.
    fn is_called(&self) -> bool {
        self.called != NEVER && self.called <= self.by_time().max(self.earliest)
    }

    pub(super) fn is_admitted(&mut self, cause: Cause) -> bool {
        let index = self.starts();
        if index == 0 {
            return true;
        }
        let failed = match self.is_result_aware() {
            true => self.outcome.failed.len(),
            false => 0,
        };
        if let Some(gate) = self.plan.gate {
            self.asked += 1;
            match gate.answer(index, failed, self.asked) {
                Permit::Start => {}
                Permit::NotNow => {
                    let again = match (self.delay, self.plan.min_gap) {
                        (0, None | Some(0)) | (NEVER, _) => NEVER,
                        (0, Some(gap)) => self.now + gap,
                        (delay, _) => self.now + delay,
                    };
                    self.refuse(again);
                    self.deferred = again != NEVER;
                    return false;
                }
                _ => {
                    self.refuse(NEVER);
                    return false;
                }
            }
        }
        if let Some(budget) = self.plan.budget {
            let is_charged = cause == Cause::Delay || budget.charges_failover;
            if is_charged && index >= self.needed() {
                if self.balance < ATTEMPT {
                    self.refuse(NEVER);
                    return false;
                }
                self.balance -= ATTEMPT;
            }
        }
        true
    }

    fn refuse(&mut self, again: u64) {
        if self.is_called() {
            self.called = NEVER;
        }
        self.by_time = again;
        self.deferred = false;
        self.held = true;
    }

    pub(super) fn start(&mut self, cause: Cause, excused: bool) -> Option<End> {
        let index = self.starts();
        let is_by_time = !self.is_called();
        let was_due = self.by_time;
        let is_planned = index > 0 && is_by_time && !excused && self.earliest <= was_due;
        let is_planned = is_planned && was_due > 0;
        self.outcome.starts.push(self.now);
        self.outcome.causes.push(cause);
        self.in_hand = false;
        if let (0, Some(budget)) = (index, self.plan.budget) {
            let most = (u64::from(budget.reserve) + 100) * ATTEMPT;
            self.balance = most.min(self.balance + u64::from(budget.percent) * 10);
        }
        let gap = self.plan.min_gap.unwrap_or(0);
        let delay = self.plan.delays.get(index).copied().flatten();
        self.delay = delay.unwrap_or(NEVER);
        self.by_time = match (self.delay, self.plan.catch_up.unwrap_or_default()) {
            (NEVER, _) => NEVER,
            (0, _) if gap == 0 => 0,
            (0, _) => self.now,
            (delay, CatchUp::Burst) if is_planned => was_due + delay,
            (delay, CatchUp::Skip) if is_planned => {
                was_due + ((self.now - was_due) / delay + 1) * delay
            }
            (delay, _) => self.now + delay,
        };
        self.called = NEVER;
        self.pause = None;
        self.earliest = if gap > 0 { self.now + gap } else { 0 };
        self.deferred = false;
        if self.plan.max_attempts == Some(self.starts()) {
            (self.stopped, self.source_over) = (true, true);
        }
        let candidate = &self.plan.candidates[self.drawn - 1];
        let signs = candidate.signs.iter().rev();
        let finishes = candidate.latency.map(|it| self.now + it).unwrap_or(NEVER);
        let times_out = self.plan.attempt_timeout.map(|it| self.now + it);
        self.running.push(Running {
            index,
            candidate: self.drawn - 1,
            finishes,
            times_out: times_out.unwrap_or(NEVER),
            signs: signs
                .map(|(after, sign)| (self.now + after, *sign))
                .filter(|(at, _)| self.plan.has_handles && *at <= finishes)
                .collect(),
            holds: false,
            committed: false,
        });
        if let Some(finished) = self.poll_from(self.running.len() - 1) {
            return self.finish(&finished);
        }
        self.waited |= self.plan.attempt_timeout.is_some();
        None
    }

    pub(super) fn finish(&mut self, finished: &Running) -> Option<End> {
        let index = finished.index;
        if !self.is_result_aware() {
            self.outcome.accepted.push((index, self.time()));
            self.waited = true; // the consumer has the item
            return None;
        }
        match self.plan.candidates[finished.candidate].result {
            Ok(()) => {
                self.claim(finished);
                self.outcome.accepted.push((index, self.time()));
            }
            // The race has ended for an attempt that committed.
            Err(_) if finished.committed => return self.fail(finished, false),
            Err(Failing::Fatal) => {
                self.outcome.failed.push((index, self.time(), false));
                return Some(End::Fatal);
            }
            Err(failing) => {
                match failing {
                    Failing::NotBefore(0) | Failing::Retryable | Failing::Fatal => {}
                    Failing::NotBefore(delay) => {
                        self.earliest = self.earliest.max(self.now + delay);
                    }
                    Failing::NoMoreStarts => {
                        self.put_place_back();
                        (self.stopped, self.source_over, self.in_hand) = (true, true, false);
                    }
                }
                return self.fail(finished, false);
            }
        }
        None
    }

    pub(super) fn fail(&mut self, failed: &Running, timed_out: bool) -> Option<End> {
        if !self.is_result_aware() {
            return None; // a timeout of a race that is read as a stream
        }
        let index = failed.index;
        self.outcome.failed.push((index, self.time(), timed_out));
        if failed.committed {
            return Some(End::Fatal);
        }
        let is_idle = self.running.is_empty();
        let calls = match self.on_failure() {
            OnFailure::Wait => false,
            OnFailure::IfLatest => index + 1 == self.starts() || is_idle,
            OnFailure::IfIdle => is_idle,
            OnFailure::Any => true,
            _ => unreachable!("there are no more variants"),
        };
        if calls && !self.stopped {
            let failures = self.outcome.failed.len();
            let asked = || self.plan.pauses.get(failures - 1).copied().unwrap_or(0);
            let pause = *self.pause.get_or_insert_with(asked);
            let called = if pause == 0 {
                0
            } else {
                self.now.saturating_add(pause)
            };
            self.called = self.called.min(called);
            self.call = Cause::Failure;
            self.deferred = self.called == NEVER;
        }
        None
    }
}
