//! When may the next attempt start?

mod rules;

use core::time::Duration;

use crate::{Moment, Policy, Standing, What};

pub use rules::{CatchUp, Next, OnFailure};

/// The staggering itself, a pure state machine: when may the next attempt start?
///
/// It has no futures, no clock and no allocation. Its owner tells it what happened and asks
/// [`next`](Stagger::next) what to do; the time comes in as an argument, and only when it matters.
/// `Race` is one such owner; a blocking thread pool or a bare-metal loop may be another.
///
/// ```
/// use core::time::Duration;
/// use race_core::{Fixed, Moment, Next, Stagger};
///
/// let at = |millis: u64| Moment::from_nanos(millis * 1_000_000);
/// let mut stagger = Stagger::new(Fixed(Duration::from_millis(50)));
///
/// assert_eq!(stagger.next(0, || at(7)), Next::Start); // the first is always due
/// assert_eq!(stagger.started(), 0);
/// assert_eq!(stagger.next(1, || at(7)), Next::Until(at(57)));
/// stagger.started(); // the owner saw 57 pass, and is late: it is 60
/// assert_eq!(stagger.next(2, || at(60)), Next::Until(at(110)));
/// stagger.failed(1, 1); // the latest one failed, and one runs
/// assert_eq!(stagger.next(1, || at(61)), Next::Start);
/// ```
#[derive(Clone, Debug)]
pub struct Stagger<P> {
    policy: P,
    catch_up: CatchUp,
    on_failure: OnFailure,
    /// Something other than time held up the start that is due, when that was last looked at.
    held: bool,
    /// The start that is due now is late for such a reason, so it owes nothing.
    excused: bool,
    /// At least 1.
    max_in_flight: usize,
    /// At least 1.
    max_attempts: usize,
    /// In nanoseconds; zero is none.
    min_gap: u64,
    /// How many attempts an answer takes at least.
    needed: u32,
    failures: u32,
    /// How many have been started, which is also the place of the next.
    starts: usize,
    /// Never before `not_before`.
    due: Due,
    /// Since the latest start: what becomes due does so no sooner. The epoch when it makes no difference.
    not_before: Moment,
}

/// A step of the whole range of moments, or more, is never over.
const NEVER: Duration = Duration::from_nanos(u64::MAX);

/// When the next attempt is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Now,
    /// `step` after the latest start, whose time has not been told yet. That start was planned for
    /// `planned`, unless it may be late without owing anything.
    After {
        step: Duration,
        planned: Option<Moment>,
    },
    At(Moment),
    OnFailure,
    /// No more will be.
    Over,
}

impl<P: Policy> Stagger<P> {
    /// Nothing has started; the first attempt is due at once.
    #[must_use]
    pub fn new(policy: P) -> Self {
        Self {
            policy,
            catch_up: CatchUp::Delay,
            on_failure: OnFailure::IfLatest,
            held: false,
            excused: false,
            max_in_flight: usize::MAX,
            max_attempts: usize::MAX,
            min_gap: 0,
            needed: 1,
            failures: 0,
            starts: 0,
            due: Due::Now,
            not_before: Moment::ZERO,
        }
    }

    /// Replaces what is done about missed starts. It counts from the next start on.
    pub fn set_catch_up(&mut self, catch_up: CatchUp) {
        self.catch_up = catch_up;
    }

    /// Replaces what a failure starts.
    pub fn set_on_failure(&mut self, on_failure: OnFailure) {
        self.on_failure = on_failure;
    }

    /// Bounds how many may run at once; 0 is treated as 1.
    pub fn set_max_in_flight(&mut self, max: usize) {
        self.max_in_flight = max.max(1);
    }

    /// Bounds how many are started at all; 0 is treated as 1.
    pub fn set_max_attempts(&mut self, max: usize) {
        self.max_attempts = max.max(1);
        if self.starts >= self.max_attempts {
            self.stop();
        }
    }

    /// The first `needed` attempts are none too many: no budget pays for them. One unless it is said.
    pub fn set_needed(&mut self, needed: usize) {
        self.needed = u32::try_from(needed).unwrap_or(u32::MAX);
    }

    /// No start is closer to the one before it, whatever the step, the failures or the starts that were
    /// missed. It counts from the next start on.
    pub fn set_min_gap(&mut self, gap: Duration) {
        self.min_gap = u64::try_from(gap.as_nanos()).unwrap_or(u64::MAX);
    }

    /// What to do, while `running` attempts run.
    ///
    /// `now` is called at most once for each start, and only when the step counts from it: it must
    /// give the time at which, as far as the owner is concerned, the latest attempt started. So ask
    /// soon after every start, or say it with [`clock`](Stagger::clock).
    #[inline]
    pub fn next(&mut self, running: usize, now: impl FnOnce() -> Moment) -> Next {
        self.clock(now);
        if self.is_full(running) && !self.is_over() {
            self.hold();
            return Next::Full;
        }
        self.excused = core::mem::take(&mut self.held);
        match self.due {
            Due::Now => Next::Start,
            Due::At(moment) => Next::Until(moment),
            Due::OnFailure | Due::After { .. } => Next::OnFailure,
            Due::Over => Next::Over,
        }
    }

    fn gap(&self) -> Duration {
        Duration::from_nanos(self.min_gap)
    }

    /// Counts the step from `now`, if it has not been told yet when the latest attempt started.
    /// Otherwise, and where the time makes no difference, `now` is not called.
    #[inline]
    pub fn clock(&mut self, now: impl FnOnce() -> Moment) {
        if let Due::After { step, planned } = self.due {
            self.count_from(step, planned, now);
        }
    }

    #[inline(never)]
    fn count_from(
        &mut self,
        step: Duration,
        planned: Option<Moment>,
        now: impl FnOnce() -> Moment,
    ) {
        let due = match (self.catch_up, planned) {
            (CatchUp::Burst, Some(planned)) if self.min_gap == 0 => planned + step,
            (catch_up, planned) => {
                let now = now();
                if self.min_gap > 0 {
                    self.not_before = self.not_before.max(now + self.gap());
                }
                match (catch_up, planned) {
                    (CatchUp::Burst, Some(planned)) => planned + step,
                    (CatchUp::Skip, Some(planned)) => next_on_grid(planned, step, now),
                    _ => now + step,
                }
            }
        };
        self.due = match due.max(self.not_before) {
            Moment::NEVER => Due::OnFailure,
            due => Due::At(due),
        };
    }

    /// Whether `running` attempts are as many as may run at once.
    #[must_use]
    pub fn is_full(&self, running: usize) -> bool {
        running >= self.max_in_flight
    }

    /// Whether no more may be started: as many have been as may be, or it was stopped.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.due == Due::Over
    }

    /// The next start waits for something other than its time: a candidate, a permit. The bound is
    /// known already. Such a wait is not lateness.
    pub fn hold(&mut self) {
        self.held = true;
    }

    /// What [`next`](Self::next) has just allowed did not happen, and will be asked for again.
    pub(crate) fn put_off(&mut self) {
        self.held = self.excused;
    }

    /// Whether the attempt whose time has come may start, as far as the policy's gates and budgets go.
    /// To be asked right before each start; a budget pays for it.
    ///
    /// After a refusal only a failure makes the next attempt due. `elapsed` tells how long this has gone on.
    #[inline]
    pub fn admit(&mut self, running: usize, elapsed: &dyn Fn() -> Duration) -> bool {
        if self.starts == 0 {
            return true;
        }
        let standing = Standing {
            place: self.starts,
            running,
            failed: self.failures as usize,
            needed: self.needed as usize,
            elapsed,
        };
        let Err(suppressed) = self.policy.admit(&standing) else {
            return true;
        };
        self.due = Due::OnFailure;
        self.note(self.starts, What::Suppressed(suppressed));
        false
    }

    /// An attempt was started. Returns its place, counted from 0.
    #[inline]
    pub fn started(&mut self) -> usize {
        let place = self.starts;
        self.starts += 1;
        self.policy.note(place, What::Started);
        let planned = match self.due {
            Due::At(moment) if !self.excused => Some(moment),
            _ => None,
        };
        let step = self.policy.step(self.starts);
        self.not_before = Moment::ZERO;
        self.due = if self.starts >= self.max_attempts {
            Due::Over
        } else if self.min_gap > 0 {
            let step = step.map_or(NEVER, |step| step.max(self.gap()));
            Due::After { step, planned }
        } else {
            match step {
                Some(Duration::ZERO) => Due::Now,
                Some(step) if step < NEVER => Due::After { step, planned },
                _ => Due::OnFailure,
            }
        };
        place
    }

    /// Whether the next attempt is due whatever the time, as the first is, and one after a failure.
    #[inline]
    #[must_use]
    pub fn is_due(&self) -> bool {
        self.due == Due::Now
    }

    /// How many attempts have been started.
    #[must_use]
    pub fn starts(&self) -> usize {
        self.starts
    }

    /// How many more may be started, at most.
    #[must_use]
    pub fn remaining(&self) -> usize {
        match self.due {
            Due::Over => 0,
            _ if self.max_attempts == usize::MAX => usize::MAX,
            _ => self.max_attempts.saturating_sub(self.starts),
        }
    }

    /// Attempt `place` failed, and `running` still run: the next may be due at once, as
    /// [`OnFailure`] has it.
    pub fn failed(&mut self, place: usize, running: usize) {
        self.failures = self.failures.saturating_add(1);
        let calls = match self.on_failure {
            OnFailure::Wait => false,
            OnFailure::IfLatest => place + 1 == self.starts,
            OnFailure::IfIdle => running == 0,
            OnFailure::Any => true,
        };
        if calls {
            self.make_due();
        }
    }

    /// Nothing runs, where failures matter: the next attempt is due at once, unless failures start
    /// nothing.
    #[cold]
    pub fn idle(&mut self) {
        if self.on_failure != OnFailure::Wait {
            self.make_due();
        }
    }

    /// The next attempt is due at once, and the step counts anew from it.
    pub fn make_due(&mut self) {
        self.due = match self.due {
            Due::Over => Due::Over,
            // The latest start is still to be told the time, and the gap counts from it.
            Due::After { .. } if self.min_gap > 0 => Due::After {
                step: self.gap(),
                planned: None,
            },
            _ if self.not_before == Moment::ZERO => Due::Now,
            _ => self.due_at_least(self.not_before),
        };
    }

    /// The next attempt does not start before this moment, whatever else makes it due. If that is
    /// [`Moment::NEVER`] none is started any more.
    pub fn not_before(&mut self, moment: Moment) {
        self.not_before = self.not_before.max(moment);
        self.due = match self.due {
            _ if moment == Moment::NEVER => Due::Over,
            Due::Now => self.due_at_least(moment),
            Due::At(due) if due < moment => self.due_at_least(moment),
            due => due,
        };
    }

    /// Waiting for such a moment is not lateness.
    fn due_at_least(&mut self, moment: Moment) -> Due {
        self.held = true;
        match moment {
            Moment::NEVER => Due::Over,
            moment => Due::At(moment),
        }
    }

    /// No more are started.
    pub fn stop(&mut self) {
        self.due = Due::Over;
    }

    /// Tells the policy what happened to an attempt, other than its start.
    #[inline]
    pub fn note(&mut self, place: usize, what: What) {
        self.policy.note(place, what);
    }

    /// Another policy in its place, as of the next start.
    pub(crate) fn map_policy<Q: Policy>(self, map: impl FnOnce(P) -> Q) -> Stagger<Q> {
        Stagger {
            policy: map(self.policy),
            catch_up: self.catch_up,
            on_failure: self.on_failure,
            held: self.held,
            excused: self.excused,
            max_in_flight: self.max_in_flight,
            max_attempts: self.max_attempts,
            min_gap: self.min_gap,
            needed: self.needed,
            failures: self.failures,
            starts: self.starts,
            due: self.due,
            not_before: self.not_before,
        }
    }
}

/// The first multiple of `step` after `planned` that is later than `now`. `step` is not zero.
fn next_on_grid(planned: Moment, step: Duration, now: Moment) -> Moment {
    let late = now.since(planned).as_nanos();
    let into_step = u64::try_from(late % step.as_nanos()).unwrap_or(0);
    now.max(planned) + (step - Duration::from_nanos(into_step))
}

#[cfg(test)]
mod tests;
