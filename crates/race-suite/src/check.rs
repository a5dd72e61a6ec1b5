use core::{cell::Cell, fmt::Debug, future::poll_fn, pin::pin, task::Poll, time::Duration};

use race_core::{Moment, RaceAt, Timer, placement::Inline};

use crate::{
    ClockKind, Target,
    attempt::{Candidate, Candidates, InlineRace},
};

/// How many starts are recorded.
const CAPACITY: usize = 12;

/// One check while it runs: its name, its clock, and what its attempts did.
pub(crate) struct Check<'t, X> {
    target: &'t X,
    name: &'static str,
    origin: Moment,
    /// When attempts started, in milliseconds.
    starts: Cell<[u64; CAPACITY]>,
    started: Cell<usize>,
    running: Cell<usize>,
    peak: Cell<usize>,
    polls: Cell<usize>,
}

impl<'t, X: Target> Check<'t, X> {
    pub(crate) fn new(target: &'t X, name: &'static str) -> Self {
        Self {
            target,
            name,
            origin: target.timer().now(),
            starts: Cell::default(),
            started: Cell::default(),
            running: Cell::default(),
            peak: Cell::default(),
            polls: Cell::default(),
        }
    }

    pub(crate) fn timer(&self) -> X::Timer {
        self.target.timer()
    }

    /// Sleeps for a number of milliseconds.
    pub(crate) fn sleep(&self, millis: u64) -> X::Sleep {
        self.target.sleep(ms(millis))
    }

    /// Begins a race with room for four.
    pub(crate) fn inline_race(&self) -> RaceAt<Inline<4>, X::Timer> {
        race_core::InlineRace::at(self.timer())
    }

    /// Creates a race with room for four, and this delay in milliseconds.
    pub(crate) fn race<'a>(&'a self, delay: u64, list: &'a [Candidate]) -> InlineRace<'a, X> {
        self.inline_race().of(ms(delay), self.candidates(list))
    }

    pub(crate) fn candidates<'a>(&'a self, list: &'a [Candidate]) -> Candidates<'a, X> {
        Candidates::new(self, list)
    }

    /// The time since the check began, in milliseconds.
    pub(crate) fn millis(&self) -> u64 {
        whole_millis(self.timer().now().since(self.origin))
    }

    /// Records that an attempt starts.
    pub(crate) fn start(&self) {
        let (index, mut starts) = (self.started.get(), self.starts.get());
        if let Some(start) = starts.get_mut(index) {
            *start = self.millis();
        }
        self.starts.set(starts);
        self.started.set(index + 1);
        self.running.set(self.running.get() + 1);
        self.peak.set(self.peak.get().max(self.running.get()));
    }

    /// Records that an attempt is polled.
    pub(crate) fn poll(&self) {
        self.polls.set(self.polls.get() + 1);
    }

    /// Records that an attempt is dropped.
    pub(crate) fn end(&self) {
        self.running.set(self.running.get() - 1);
    }

    /// How many attempts have started.
    pub(crate) fn started(&self) -> usize {
        self.started.get()
    }

    /// How many attempts run.
    pub(crate) fn running(&self) -> usize {
        self.running.get()
    }

    /// How many attempts ran at once at most.
    pub(crate) fn peak(&self) -> usize {
        self.peak.get()
    }

    /// How often attempts were polled.
    #[cfg(feature = "alloc")]
    pub(crate) fn polls(&self) -> usize {
        self.polls.get()
    }

    /// Asserts a fact.
    #[track_caller]
    pub(crate) fn holds(&self, fact: bool, what: &str) {
        assert!(fact, "{}: {what}", self.name);
    }

    /// Asserts that two values are equal.
    #[track_caller]
    pub(crate) fn same<V: PartialEq + Debug>(&self, what: &str, found: V, expected: V) {
        assert_eq!(found, expected, "{}: {what}", self.name);
    }

    /// Asserts that the attempts started at these milliseconds. On a real clock, asserts that at
    /// least as many attempts started, and none earlier.
    #[track_caller]
    pub(crate) fn starts_at(&self, expected: &[u64]) {
        let starts = self.starts.get();
        let found = &starts[..self.started().min(CAPACITY)];
        match X::CLOCK {
            ClockKind::Exact => self.same("starts", found, expected),
            ClockKind::Real => {
                let mut pairs = found.iter().zip(expected);
                let late = pairs.all(|(found, expected)| found >= expected);
                let enough = found.len() >= expected.len();
                let name = self.name;
                assert!(late && enough, "{name}: {found:?} for {expected:?}");
            }
        }
    }

    /// Asserts that it is this millisecond; on a real clock, that it is not earlier.
    #[track_caller]
    pub(crate) fn time_is(&self, expected: u64) {
        let found = self.millis();
        match X::CLOCK {
            ClockKind::Exact => self.same("time", found, expected),
            ClockKind::Real => self.holds(found >= expected, "it is too early"),
        }
    }

    /// Asserts which attempt won, and when.
    #[track_caller]
    pub(crate) fn won(&self, won: Option<(usize, Duration)>, index: usize, millis: u64) {
        self.same("winner", won.map(|(index, _)| index), Some(index));
        self.time_is(millis);
        if X::CLOCK == ClockKind::Exact {
            let elapsed = won.map(|(_, elapsed)| whole_millis(elapsed));
            self.same("elapsed", elapsed, Some(millis));
        }
        self.same("running attempts after the win", self.running(), 0);
    }
}

/// The index of the winner and when it won.
pub(crate) fn winner<A, V>(won: Option<race_core::Won<A, V>>) -> Option<(usize, Duration)> {
    won.map(|won| (won.index, won.elapsed))
}

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Polls a future once.
pub(crate) async fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    let mut future = pin!(future);
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
}

/// In `u64`: a division of 128 bits is large on a small target.
fn whole_millis(duration: Duration) -> u64 {
    duration.as_secs() * 1_000 + u64::from(duration.subsec_millis())
}
