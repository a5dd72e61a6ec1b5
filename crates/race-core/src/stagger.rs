use core::time::Duration;

use crate::{Moment, Policy};

/// What a race does about starts that it missed, because nobody polled it in time.
///
/// The names and meanings are those of tokio's `MissedTickBehavior`. Waiting for the bound, for a
/// candidate, or for a failure is not lateness: nothing is owed for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CatchUp {
    /// Start one, and the next a full step after it: two starts are never closer than the step.
    #[default]
    Delay,
    /// Start all that were missed as fast as polling allows, then go on as if none had been late.
    Burst,
    /// Start one, and the next at the following multiple of the step, on the old grid.
    Skip,
}

/// What to do now, as [`Stagger::next`] sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Next {
    /// Start an attempt now.
    Start,
    /// Start one when this moment has come. It may be in the past.
    Until(Moment),
    /// The bound is reached: start none until one has finished.
    Full,
    /// Only a failure makes the next attempt due.
    OnFailure,
}

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
/// stagger.failed(1); // the latest one failed
/// assert_eq!(stagger.next(1, || at(61)), Next::Start);
/// ```
#[derive(Clone, Debug)]
pub struct Stagger<P> {
    policy: P,
    catch_up: CatchUp,
    /// At least 1.
    max_in_flight: usize,
    /// How many have been started, which is also the place of the next.
    starts: usize,
    due: Due,
    /// Something other than time held up the start that is due, when that was last looked at.
    held: bool,
    /// The start that is due now is late for such a reason, so it owes nothing.
    excused: bool,
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
}

impl<P: Policy> Stagger<P> {
    /// Nothing has started; the first attempt is due at once.
    #[must_use]
    pub fn new(policy: P) -> Self {
        Self {
            policy,
            catch_up: CatchUp::Delay,
            max_in_flight: usize::MAX,
            starts: 0,
            due: Due::Now,
            held: false,
            excused: false,
        }
    }

    /// Replaces what is done about missed starts. It counts from the next start on.
    pub fn set_catch_up(&mut self, catch_up: CatchUp) {
        self.catch_up = catch_up;
    }

    /// Bounds how many may run at once; 0 is treated as 1.
    pub fn set_max_in_flight(&mut self, max: usize) {
        self.max_in_flight = max.max(1);
    }

    /// What to do, while `running` attempts run.
    ///
    /// `now` is called at most once for each start, and only when the step counts from it: it must
    /// give the time at which, as far as the owner is concerned, the latest attempt started. So ask
    /// soon after every start, or say it with [`clock`](Stagger::clock).
    #[inline]
    pub fn next(&mut self, running: usize, now: impl FnOnce() -> Moment) -> Next {
        self.clock(now);
        if self.is_full(running) {
            self.hold();
            return Next::Full;
        }
        self.excused = core::mem::take(&mut self.held);
        match self.due {
            Due::Now => Next::Start,
            Due::At(moment) => Next::Until(moment),
            Due::OnFailure | Due::After { .. } => Next::OnFailure,
        }
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
            (CatchUp::Burst, Some(planned)) => planned + step,
            (CatchUp::Skip, Some(planned)) => next_on_grid(planned, step, now()),
            _ => now() + step,
        };
        self.due = match due {
            Moment::NEVER => Due::OnFailure,
            due => Due::At(due),
        };
    }

    /// Whether `running` attempts are as many as may run at once.
    #[must_use]
    pub fn is_full(&self, running: usize) -> bool {
        running >= self.max_in_flight
    }

    /// The next start waits for something other than its time: a candidate, a permit. The bound is
    /// known already. Such a wait is not lateness.
    pub fn hold(&mut self) {
        self.held = true;
    }

    /// An attempt was started. Returns its place, counted from 0.
    pub fn started(&mut self) -> usize {
        let place = self.starts;
        self.starts += 1;
        let planned = match self.due {
            Due::At(moment) if !self.excused => Some(moment),
            _ => None,
        };
        self.due = match self.policy.step(self.starts) {
            Some(Duration::ZERO) => Due::Now,
            Some(step) if step < NEVER => Due::After { step, planned },
            _ => Due::OnFailure,
        };
        place
    }

    /// Whether the next attempt is due whatever the time, as the first is, and one after a failure.
    #[must_use]
    pub fn is_due(&self) -> bool {
        self.due == Due::Now
    }

    /// How many attempts have been started.
    #[must_use]
    pub fn starts(&self) -> usize {
        self.starts
    }

    /// Attempt `place` failed, and failures matter: if it was the latest to start, the next is due
    /// at once, and the step counts anew from it. CPython's and Trio's `staggered_race` have this
    /// rule.
    pub fn failed(&mut self, place: usize) {
        if place + 1 == self.starts {
            self.make_due();
        }
    }

    /// The next attempt is due at once, and the step counts anew from it.
    pub fn make_due(&mut self) {
        self.due = Due::Now;
    }

    pub(crate) fn with_policy<Q: Policy>(self, policy: Q) -> Stagger<Q> {
        Stagger {
            policy,
            catch_up: self.catch_up,
            max_in_flight: self.max_in_flight,
            starts: self.starts,
            due: self.due,
            held: self.held,
            excused: self.excused,
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
mod tests {
    use super::*;
    use crate::Fixed;

    fn at(millis: u64) -> Moment {
        Moment::from_nanos(millis * 1_000_000)
    }

    fn unread() -> Moment {
        panic!("the clock was read")
    }

    /// One attempt was started at 0, another is due at 10, and it is looked at `at` again.
    fn second_start_at(catch_up: CatchUp, now: Moment) -> Stagger<Fixed> {
        let mut stagger = Stagger::new(Fixed(Duration::from_millis(10)));
        stagger.set_catch_up(catch_up);
        stagger.started();
        assert_eq!(stagger.next(1, || at(0)), Next::Until(at(10)));
        stagger.started();
        stagger.clock(|| now);
        stagger
    }

    #[test]
    fn a_late_start_delays_the_next_by_a_full_step() {
        let mut stagger = second_start_at(CatchUp::Delay, at(1_003));
        assert_eq!(stagger.next(2, unread), Next::Until(at(1_013)));
    }

    #[test]
    fn burst_owes_every_missed_start_and_reads_no_clock() {
        let mut stagger = second_start_at(CatchUp::Burst, at(1_003));
        assert_eq!(stagger.next(2, unread), Next::Until(at(20)));
        stagger.started();
        assert_eq!(stagger.next(3, unread), Next::Until(at(30)));
    }

    #[test]
    fn skip_goes_on_at_the_next_multiple_of_the_step() {
        let mut stagger = second_start_at(CatchUp::Skip, at(1_003));
        assert_eq!(stagger.next(2, unread), Next::Until(at(1_010)));
        let mut on_the_grid = second_start_at(CatchUp::Skip, at(1_000));
        assert_eq!(on_the_grid.next(2, unread), Next::Until(at(1_010)));
    }

    #[test]
    fn waiting_at_the_bound_owes_nothing() {
        for catch_up in [CatchUp::Delay, CatchUp::Burst, CatchUp::Skip] {
            let mut stagger = Stagger::new(Fixed(Duration::from_millis(10)));
            stagger.set_catch_up(catch_up);
            stagger.set_max_in_flight(1);
            stagger.started();
            assert_eq!(stagger.next(1, || at(0)), Next::Full);
            assert_eq!(stagger.next(0, unread), Next::Until(at(10)));
            stagger.started();
            assert_eq!(stagger.next(0, || at(1_003)), Next::Until(at(1_013)));
        }
    }

    #[test]
    fn waiting_in_time_after_the_bound_owes_again() {
        let mut stagger = Stagger::new(Fixed(Duration::from_millis(10)));
        stagger.set_catch_up(CatchUp::Burst);
        stagger.started();
        stagger.clock(|| at(0));
        stagger.hold();
        stagger.next(0, unread);
        stagger.next(0, unread); // nothing held it up any more
        stagger.started();
        assert_eq!(stagger.next(0, || at(1_000)), Next::Until(at(20)));
    }

    #[test]
    fn a_bound_of_zero_is_one() {
        let mut stagger = Stagger::new(Fixed(Duration::ZERO));
        stagger.set_max_in_flight(0);
        assert_eq!(stagger.next(0, unread), Next::Start);
        assert_eq!(stagger.next(1, unread), Next::Full);
    }

    #[test]
    fn no_step_and_no_clock() {
        let mut stagger = Stagger::new(Fixed(Duration::ZERO));
        for place in 0..1_000 {
            assert_eq!(stagger.next(place, unread), Next::Start);
            assert_eq!(stagger.started(), place);
        }
    }

    #[test]
    fn endless_steps_wait_for_a_failure_and_never_overflow() {
        for nanos in [u64::MAX, u64::MAX - 1, u64::MAX - 1_000] {
            for catch_up in [CatchUp::Delay, CatchUp::Burst, CatchUp::Skip] {
                let mut stagger = Stagger::new(Fixed(Duration::from_nanos(nanos)));
                stagger.set_catch_up(catch_up);
                stagger.started();
                assert_eq!(stagger.next(1, || at(1)), Next::OnFailure);
                stagger.failed(0);
                assert_eq!(stagger.next(0, unread), Next::Start);
            }
        }
        let mut stagger = Stagger::new(Fixed(Duration::MAX));
        stagger.started();
        assert_eq!(stagger.next(1, unread), Next::OnFailure);
    }

    #[test]
    fn only_the_latest_failure_makes_the_next_due() {
        let mut stagger = second_start_at(CatchUp::Delay, at(10));
        stagger.failed(0);
        assert_eq!(stagger.next(1, unread), Next::Until(at(20)));
        stagger.failed(1);
        assert_eq!(stagger.next(0, unread), Next::Start);
        stagger.started();
        assert_eq!(stagger.next(1, || at(12)), Next::Until(at(22)));
    }

    #[test]
    fn a_closure_is_a_policy() {
        let mut stagger =
            Stagger::new(|place| (place < 2).then(|| Duration::from_millis(place as u64)));
        stagger.started();
        assert_eq!(stagger.next(1, || at(0)), Next::Until(at(1)));
        stagger.started();
        assert_eq!(stagger.next(2, unread), Next::OnFailure);
    }
}
