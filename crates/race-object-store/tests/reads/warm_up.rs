//! A class of reads that has not warmed up uses the delay of a larger one.

use object_store::ObjectStoreExt as _;
use race_core::{
    Adaptive, Moment,
    observe::{Cause, Event, EventKind, Observer as _},
};
use race_object_store::{
    AdaptiveDelays,
    ReadClass::{self, Get, Head, Ranges},
    SizeClass::{Larger, UpTo1MiB, UpTo8MiB, UpTo64KiB},
};

use crate::slow::{Slow, after, ms};

/// Lets a class learn a delay.
fn warm(delays: &AdaptiveDelays, class: ReadClass, millis: u64) {
    let mut adaptive = &**delays.of(class);
    for _ in 0..100 {
        let kind = EventKind::Won;
        adaptive.observe(Event::new(0, Cause::First, Moment::ZERO, ms(millis), kind));
    }
}

/// Reads four bytes, up to 64 KiB, from a store that takes 900 ms. Returns when the attempts start.
fn read(delays: &AdaptiveDelays) -> Vec<u64> {
    let slow = Slow::new(vec![after(900); 9]);
    let store = slow.hedged_by(delays.clone()).max_attempts(3);
    slow.run(store.get_range(&"a".into(), 0..4)).unwrap();
    slow.reads()
}

fn delays() -> AdaptiveDelays {
    AdaptiveDelays::new(|_| Adaptive::quantile(0.5).without_budget())
}

/// Asserts that a read was hedged after `millis`, or later by at most the width of a bucket.
#[track_caller]
fn assert_hedged(starts: &[u64], millis: u64) {
    let hedge = starts.get(1).copied().unwrap_or(u64::MAX);
    let latest = millis + millis / 60 + 1;
    assert!((millis..=latest).contains(&hedge), "{starts:?}");
}

#[test]
fn class_that_has_not_warmed_up_uses_the_nearest_larger_one() {
    let delays = delays();
    assert_eq!(read(&delays), [0]);
    warm(&delays, Get(Larger), 400);
    assert_hedged(&read(&delays), 400);
    warm(&delays, Get(UpTo1MiB), 100);
    assert_hedged(&read(&delays), 100);
    warm(&delays, Get(UpTo8MiB), 200);
    assert_hedged(&read(&delays), 100);
    warm(&delays, Get(UpTo64KiB), 20);
    assert_hedged(&read(&delays), 20);
}

#[test]
fn smaller_classes_and_other_operations_lend_no_delay() {
    let delays = delays();
    warm(&delays, Head, 10);
    warm(&delays, Ranges(UpTo1MiB), 10);
    warm(&delays, Ranges(Larger), 10);
    assert_eq!(read(&delays), [0]);
    let large = Slow::new([after(900)]);
    warm(&delays, Get(UpTo8MiB), 10);
    let store = large.hedged_by(delays);
    large.run(store.get(&"a".into())).unwrap();
    assert_eq!(large.reads(), [0]);
}

#[test]
fn only_the_second_attempt_uses_the_delay_of_another_class() {
    let delays = AdaptiveDelays::new(|class| match class {
        Get(UpTo64KiB) => Adaptive::extra_load(5.0).initial(ms(30)).without_budget(),
        _ => Adaptive::extra_load(5.0).without_budget(),
    });
    assert_eq!(read(&delays), [0, 30, 60]);
    warm(&delays, Get(UpTo1MiB), 100);
    let starts = read(&delays);
    assert!((100..=102).contains(&starts[1]), "{starts:?}");
    assert_eq!(starts[2] - starts[1], 30);
}

#[test]
fn each_class_charges_its_own_budget_and_learns_from_its_own_reads() {
    let delays = AdaptiveDelays::extra_load(5.0);
    warm(&delays, Get(UpTo1MiB), 100);
    let hedged = (0..40).filter(|_| read(&delays).len() == 2).count();
    assert_eq!(hedged, 10, "the start reserve");
    // The loser of a hedged read is a sample, too.
    assert_eq!(delays.of(Get(UpTo64KiB)).samples(), 50);
    assert_eq!(delays.of(Get(UpTo1MiB)).samples(), 100);
}

#[test]
fn class_that_never_hedges_borrows_no_delay() {
    let delays = AdaptiveDelays::new(|class| match class {
        Get(UpTo64KiB) => Adaptive::extra_load(0.0).without_budget(),
        _ => Adaptive::extra_load(5.0),
    });
    warm(&delays, Get(UpTo1MiB), 100);
    assert_eq!(read(&delays), [0]);
}
