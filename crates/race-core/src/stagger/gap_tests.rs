//! A minimum gap beside delays, progress, deferrals and failures; and pauses after several failures.

use core::{cell::Cell, time::Duration};

use super::{Next, OnFailure, Stagger};
use crate::{Moment, Policy, observe::Cause};

fn at(millis: u64) -> Moment {
    Moment::from(Duration::from_millis(millis))
}

/// Attempt 0 has started at 0.
fn started(delay: u64, gap: u64) -> Stagger<Duration> {
    let mut stagger = Stagger::new(Duration::from_millis(delay));
    stagger.set_min_gap(Duration::from_millis(gap));
    stagger.started();
    stagger.clock(|| at(0));
    stagger
}

#[test]
fn progress_counts_the_delay_anew_and_not_the_gap() {
    for (delay, progress, next) in [(10, 45, 55), (10, 20, 50), (0, 25, 50), (60, 45, 105)] {
        let mut stagger = started(delay, 50);
        stagger.progressed(|| at(progress));
        assert_eq!(stagger.next(1, || at(progress)), Next::Until(at(next)));
    }
}

#[test]
fn deferred_start_without_a_delay_is_due_again_after_the_gap() {
    let mut stagger = started(0, 50);
    assert_eq!(stagger.next(1, || at(50)), Next::Until(at(50)));
    stagger.deferred(|| at(50));
    assert_eq!(stagger.next(1, || at(50)), Next::Until(at(100)));
    let mut stagger = started(10, 50);
    stagger.deferred(|| at(50));
    assert_eq!(stagger.next(1, || at(50)), Next::Until(at(60)));
}

#[test]
fn start_that_delay_and_failure_made_due_within_the_gap_is_caused_by_the_failure() {
    let mut stagger = started(10, 50);
    assert_eq!(stagger.cause(1), Cause::Delay);
    stagger.failed(0, 1, || at(20));
    assert_eq!(stagger.next(1, || at(20)), Next::Until(at(50)));
    assert_eq!(stagger.cause(1), Cause::Failure);
}

/// Pauses of 5, 10, 15 … ms, which counts the questions.
struct Pauses<'a>(&'a Cell<u64>);

impl Policy for Pauses<'_> {
    fn delay(&mut self, _: usize, _: Cause) -> Option<Duration> {
        None
    }

    fn pause(&mut self, _: usize) -> Duration {
        self.0.set(self.0.get() + 1);
        Duration::from_millis(5 * self.0.get())
    }
}

#[test]
fn failures_between_two_starts_ask_for_one_pause() {
    let asked = Cell::new(0);
    let mut stagger = Stagger::new(Pauses(&asked));
    stagger.set_on_failure(OnFailure::Any);
    stagger.started();
    for now in [7, 7, 9] {
        stagger.failed(0, 3, || at(now));
    }
    assert_eq!(
        (asked.get(), stagger.next(1, || at(9))),
        (1, Next::Until(at(12)))
    );
    stagger.started();
    stagger.failed(1, 0, || at(20));
    assert_eq!(
        (asked.get(), stagger.next(1, || at(20))),
        (2, Next::Until(at(30)))
    );
}

#[test]
fn failure_after_a_refusal_pauses_as_long_as_the_one_before() {
    let asked = Cell::new(0);
    let mut stagger = Stagger::new(Pauses(&asked));
    stagger.set_on_failure(OnFailure::Any);
    stagger.started();
    stagger.failed(0, 3, || at(7));
    stagger.refused();
    stagger.failed(0, 2, || at(20));
    assert_eq!(
        (asked.get(), stagger.next(1, || at(20))),
        (1, Next::Until(at(25)))
    );
}

#[test]
fn failure_that_starts_nothing_asks_for_no_pause() {
    let asked = Cell::new(0);
    let mut stagger = Stagger::new(Pauses(&asked));
    stagger.started();
    stagger.started();
    stagger.failed(0, 1, || at(7)); // not the latest
    stagger.stop();
    stagger.failed(1, 0, || at(8));
    assert_eq!(asked.get(), 0);
}
