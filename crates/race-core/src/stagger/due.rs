use super::{CatchUp, Next, OnFailure, call::Call, excuse::Excuse};
use crate::{Moment, Policy, observe::Cause, time::saturating_nanos};

/// Nanoseconds of a delay that never passes.
pub(super) const NEVER: u64 = u64::MAX;

/// When the next attempt is due; see [`CatchUp::next_start`].
pub(super) type MakeUp = fn(CatchUp, Moment, u64, Moment) -> Moment;

/// Decides when the next attempt may start: a pure state machine.
///
/// It has no futures, no clock and no allocation. Its owner reports what happened and asks
/// [`next`](Stagger::next) what to do. Time is an argument, and is asked for only when it matters.
/// A `Race` is one such owner; a thread pool or a bare-metal loop can be another.
///
/// The next attempt is due when its delay has passed or when a failure calls for it, whichever is
/// earlier, but not before the minimum gap and a pushback allow it.
///
/// ```
/// use core::time::Duration;
/// use race_core::{Moment, Stagger, stagger::Next};
///
/// let at = |millis| Moment::from(Duration::from_millis(millis));
/// let mut stagger = Stagger::new(Duration::from_millis(50));
///
/// assert_eq!(stagger.next(0, || at(7)), Next::Start); // the first attempt is due at once
/// assert_eq!(stagger.started(), 0);
/// assert_eq!(stagger.next(1, || at(7)), Next::Until(at(57)));
/// stagger.started(); // at 60: the owner is 3 ms late
/// assert_eq!(stagger.next(2, || at(60)), Next::Until(at(110)));
/// stagger.failed(1, 1, || at(61)); // attempt 1 failed, one is running
/// assert_eq!(stagger.next(1, || at(61)), Next::Start);
/// ```
#[derive(Clone, Debug)]
pub struct Stagger<P> {
    pub(super) policy: P,
    pub(super) catch_up: CatchUp,
    /// `CatchUp::next_start` if `catch_up` was set. A program that never sets it does not contain
    /// that function.
    pub(super) make_up: Option<MakeUp>,
    pub(super) on_failure: OnFailure,
    pub(super) excuse: Excuse,
    /// Starts by time are suspended.
    pub(super) suspended: bool,
    pub(super) call: Call,
    pub(super) failures: u32,
    pub(super) max_in_flight: usize,
    pub(super) max_attempts: usize,
    /// Nanoseconds; zero is none.
    pub(super) min_gap: u64,
    /// The number of starts, which is also the index of the next attempt.
    pub(super) starts: usize,
    /// Nanoseconds from the latest start to the next, whatever the minimum gap.
    pub(super) delay: u64,
    /// When the delay makes the next attempt due; `ZERO` is at once, `NEVER` is not, or not known
    /// yet.
    pub(super) by_time: Moment,
    pub(super) phase: Phase,
    /// When the latest start was planned for; `NEVER` if it was not planned or is excused, or if
    /// `catch_up` does not need it.
    pub(super) planned: Moment,
    /// The minimum gap and the pushback: nothing starts before. `ZERO` if there is none.
    pub(super) earliest: Moment,
}

/// Whether the moment of the next start by time is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// `by_time` is known.
    Timed,
    /// The next attempt is due `delay` after the latest start, whose time is not known yet. Until
    /// then `by_time` is `NEVER`.
    AfterLatest,
    /// No more attempts start. `by_time` is `NEVER`.
    Over,
}

impl<P: Policy> Stagger<P> {
    /// Creates a stagger in which nothing has started. The first attempt is due at once.
    #[must_use]
    pub fn new(policy: P) -> Self {
        Self {
            policy,
            catch_up: CatchUp::Delay,
            make_up: None,
            on_failure: OnFailure::IfLatest,
            excuse: Excuse::default(),
            suspended: false,
            call: Call::default(),
            failures: 0,
            max_in_flight: usize::MAX,
            max_attempts: usize::MAX,
            min_gap: 0,
            starts: 0,
            delay: NEVER,
            by_time: Moment::ZERO,
            phase: Phase::Timed,
            planned: Moment::NEVER,
            earliest: Moment::ZERO,
        }
    }

    /// Returns what to do while `running` attempts are running.
    ///
    /// `now` is called at most once per start, and only if the delay counts from it. It must return
    /// the time at which the latest attempt started, so call `next` soon after each start, or
    /// report the time with [`clock`](Stagger::clock).
    #[inline]
    pub fn next(&mut self, running: usize, now: impl FnOnce() -> Moment) -> Next {
        if !self.is_full(running) {
            return self.next_with_room(now);
        }
        if !self.is_due() || self.min_gap > 0 {
            self.clock(now);
        }
        if self.is_over() {
            return Next::Over;
        }
        self.hold();
        Next::Full
    }

    /// Returns what to do while fewer attempts are running than allowed.
    #[inline]
    pub(crate) fn next_with_room(&mut self, now: impl FnOnce() -> Moment) -> Next {
        let mut due = self.due();
        if due != Moment::ZERO || self.min_gap > 0 {
            self.clock(now);
            due = self.due();
        }
        if due == Moment::NEVER && self.is_over() {
            return Next::Over;
        }
        self.excuse.start_is_asked_for();
        match due {
            Moment::ZERO => Next::Start,
            Moment::NEVER if self.earliest == Moment::NEVER => Next::Over,
            Moment::NEVER => Next::OnFailure,
            due => Next::Until(due),
        }
    }

    /// Returns when the next attempt is due: [`Moment::ZERO`] if that does not depend on time,
    /// [`Moment::NEVER`] if it is not due or the time of the latest start is not known yet.
    #[inline]
    #[must_use]
    pub(crate) fn due(&self) -> Moment {
        if self.phase == Phase::Over {
            return Moment::NEVER;
        }
        self.by_time().min(self.call.at()).max(self.earliest)
    }

    /// Returns when the delay makes the next attempt due.
    #[inline]
    fn by_time(&self) -> Moment {
        match self.suspended {
            true => Moment::NEVER,
            false => self.by_time,
        }
    }

    /// Returns whether the next attempt is due regardless of the time, such as the first attempt,
    /// or the next one after a failure.
    #[inline]
    #[must_use]
    pub fn is_due(&self) -> bool {
        self.due() == Moment::ZERO
    }

    /// Returns why the next attempt would start while `running` attempts are running.
    #[must_use]
    pub fn cause(&self, running: usize) -> Cause {
        if self.starts == 0 {
            return Cause::First;
        }
        // Both may have been due before the minimum gap or the pushback allowed the start.
        let by_time = self.by_time().max(self.earliest);
        match self.call.at() != Moment::NEVER && self.call.at() <= by_time {
            true => self.call.cause(),
            false if running == 0 => Cause::Idle,
            false => Cause::Delay,
        }
    }

    /// Returns the earliest moment at which anything can start the next attempt: `ZERO` if that is
    /// not known yet, `NEVER` if nothing starts it any more, whatever becomes of the attempts that
    /// are running.
    pub(crate) fn earliest(&self) -> Moment {
        let is_endless = self.phase == Phase::Timed
            && self.on_failure == OnFailure::Wait
            && self.by_time == Moment::NEVER
            && self.call.at() == Moment::NEVER;
        match self.phase == Phase::Over || is_endless {
            true => Moment::NEVER,
            false => self.earliest,
        }
    }

    /// Reports the time of the latest start, if it is not known yet. Otherwise, and where the time
    /// makes no difference, `now` is not called.
    #[inline]
    pub fn clock(&mut self, now: impl FnOnce() -> Moment) {
        if self.phase == Phase::AfterLatest {
            let ignores_clock = self.catch_up.ignores_clock(self.planned) && self.min_gap == 0;
            self.count_from(if ignores_clock { self.planned } else { now() });
        }
    }

    #[inline(never)]
    fn count_from(&mut self, now: Moment) {
        if self.min_gap > 0 {
            self.earliest = self.earliest.max(now.plus_nanos(self.min_gap));
        }
        self.by_time = match self.make_up {
            Some(make_up) if self.delay > 0 => {
                make_up(self.catch_up, self.planned, self.delay, now)
            }
            _ => now.plus_nanos(self.delay),
        };
        self.phase = Phase::Timed;
    }

    /// Returns whether `running` attempts are as many as may run at once.
    #[must_use]
    pub fn is_full(&self, running: usize) -> bool {
        running >= self.max_in_flight
    }

    /// Returns whether the time of the latest start has not been reported, and is needed.
    #[inline]
    pub(crate) fn awaits_clock(&self) -> bool {
        self.phase == Phase::AfterLatest
    }

    /// Returns whether no more attempts start: the maximum was reached, or [`stop`](Self::stop) was
    /// called.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Reports that the next start waits for something other than its time, such as a candidate.
    /// Such a wait is not lateness. The limit on running attempts needs no report.
    pub fn hold(&mut self) {
        self.excuse.hold();
    }

    /// Reports that the start that [`next`](Self::next) has just allowed did not happen yet.
    pub fn put_off(&mut self) {
        self.excuse.start_is_put_off();
    }

    /// Reports that an attempt started. Returns its index, counted from 0.
    #[inline]
    pub fn started(&mut self) -> usize {
        let index = self.starts;
        let cause = self.cause(1);
        if self.catch_up != CatchUp::Delay {
            self.note_planned();
        }
        self.starts += 1;
        self.call.reset();
        self.earliest = Moment::ZERO;
        if self.starts >= self.max_attempts {
            self.stop();
            return index;
        }
        let delay = self.policy.delay(self.starts, cause);
        // After the policy, which may panic: the next attempt stays due then.
        self.delay = delay.map_or(NEVER, saturating_nanos);
        self.phase = Phase::Timed;
        self.by_time = Moment::NEVER;
        match self.delay {
            0 if self.min_gap == 0 => self.by_time = Moment::ZERO,
            NEVER if self.min_gap == 0 => {}
            _ => self.phase = Phase::AfterLatest,
        }
        index
    }

    /// Notes when the attempt that is starting was planned for.
    #[cold]
    #[inline(never)]
    fn note_planned(&mut self) {
        let is_planned = !self.excuse.is_excused()
            && self.cause(1) == Cause::Delay
            && self.by_time != Moment::ZERO
            && self.by_time >= self.earliest;
        self.planned = match is_planned {
            true => self.by_time,
            false => Moment::NEVER,
        };
    }

    /// Returns the number of attempts that have started.
    #[must_use]
    pub fn starts(&self) -> usize {
        self.starts
    }

    /// Returns the number of failures that were reported.
    #[must_use]
    pub fn failures(&self) -> usize {
        self.failures as usize
    }

    /// Returns how many more attempts may start at most.
    #[must_use]
    pub fn remaining(&self) -> usize {
        match self.phase {
            Phase::Over => 0,
            _ if self.earliest == Moment::NEVER => 0,
            _ if self.max_attempts == usize::MAX => usize::MAX,
            _ => self.max_attempts.saturating_sub(self.starts),
        }
    }

    /// Reports that attempt `index` failed while `running` others are running.
    ///
    /// This may make the next attempt due, as set with [`OnFailure`]. The policy is asked for the
    /// pause by the first such failure after a start; later ones before the next start pause as
    /// long. `now` is called only if the policy has a pause between a failure and the next start.
    pub fn failed(&mut self, index: usize, running: usize, now: impl FnOnce() -> Moment) {
        self.failures = self.failures.saturating_add(1);
        let is_latest = index + 1 == self.starts;
        if self.is_over() || !self.on_failure.starts_next(is_latest, running == 0) {
            return;
        }
        let pause = match self.call.pause() {
            Some(pause) => pause,
            None => {
                let pause = saturating_nanos(self.policy.pause(self.failures as usize));
                self.call.set_pause(pause);
                pause
            }
        };
        self.call.failed(match pause {
            0 => Moment::ZERO,
            pause => now().plus_nanos(pause),
        });
    }

    /// Reports that no attempt is running, if results are known: the next attempt is
    /// due at once, unless failures start nothing, a failure's pause is still running, or a gate
    /// deferred the start.
    #[cold]
    pub fn idle(&mut self) {
        if self.on_failure != OnFailure::Wait {
            self.call.idle();
        }
    }

    /// Delays the next start until `moment`, whatever else makes it due. With [`Moment::NEVER`], no
    /// more attempts start.
    pub fn not_before(&mut self, moment: Moment) {
        self.earliest = self.earliest.max(moment);
        if moment == Moment::NEVER {
            self.stop();
        }
    }

    /// Reports that the due start was refused: its delay does not make it due any more. A failure,
    /// or being idle, still can.
    pub fn refused(&mut self) {
        self.reschedule(Moment::NEVER);
    }

    /// Reports that the due start was deferred: it is due again one delay after `now`, or one
    /// minimum gap if the delay is zero.
    ///
    /// Same as [`refused`](Self::refused) if the policy returned no delay, or if both the delay and
    /// the minimum gap are zero.
    pub fn deferred(&mut self, now: impl FnOnce() -> Moment) {
        let wait = match self.delay {
            0 => self.min_gap,
            delay => delay,
        };
        let next = match wait {
            0 | NEVER => Moment::NEVER,
            wait => now().plus_nanos(wait),
        };
        self.reschedule(next);
        self.call.set_idle_waits(next != Moment::NEVER);
    }

    fn reschedule(&mut self, next: Moment) {
        let is_called = matches!(self.cause(1), Cause::Failure | Cause::Idle);
        self.call.start_is_refused(is_called);
        if !self.is_over() {
            self.by_time = next;
            self.phase = Phase::Timed;
        }
        self.excuse.hold(); // a start that was refused is not late
    }

    /// Starts no more attempts.
    pub fn stop(&mut self) {
        self.by_time = Moment::NEVER;
        self.phase = Phase::Over;
    }
}
