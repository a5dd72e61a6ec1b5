use std::{cell::Cell, future::pending, time::Duration};

use futures::{Stream, StreamExt, poll, stream::FusedStream};
use race::{core::Race, test::VirtualClock};

use crate::probe::{Trace, ms};

#[test]
fn max_in_flight_limits_running_attempts() {
    for max in [8, 1] {
        let clock = VirtualClock::new();
        let running = Cell::new((0, 0));
        let run = |_: &u64| async {
            let (now, peak) = running.get();
            running.set((now + 1, peak.max(now + 1)));
            clock.sleep(ms(5)).await;
            running.set((running.get().0 - 1, running.get().1));
        };
        let race = Race::at(clock.timer())
            .new(Duration::ZERO, run, 0..)
            .max_in_flight(max);
        let taken: Vec<_> = clock.run(race.map(|(n, ())| n).take(40).collect()).unwrap();
        assert_eq!(taken, (0..40).collect::<Vec<_>>());
        assert_eq!(running.get().1, max);
    }
}

#[test]
fn zero_delay_over_an_endless_source_does_not_hang_a_poll() {
    let clock = VirtualClock::new();
    let attempts = std::iter::repeat_with(pending::<()>);
    let mut race = Race::at(clock.timer()).of(Duration::ZERO, attempts);
    clock
        .run(async {
            for _ in 0..10 {
                let before = race.len();
                assert!(poll!(race.next()).is_pending());
                assert!((1..=100).contains(&(race.len() - before)));
            }
        })
        .unwrap();
}

#[test]
fn max_in_flight_that_is_raised_between_polls_starts_the_next() {
    let clock = VirtualClock::new();
    let starts = Trace::new(&clock);
    let attempts = (0..9).map(|_| starts.attempt(70));
    let mut race = Race::at(clock.timer())
        .of(Duration::ZERO, attempts)
        .max_in_flight(1);
    clock
        .run(async { assert!(poll!(race.next()).is_pending()) })
        .unwrap();
    clock.advance(ms(20));
    assert_eq!(clock.run(race.max_in_flight(3).count()), Ok(9));
    assert_eq!(starts.millis(), [0, 20, 20, 70, 90, 90, 140, 160, 160]);
}

#[test]
fn finished_attempts_are_delivered_before_more_start() {
    let clock = VirtualClock::new();
    let starts = Trace::new(&clock);
    let attempts = (0..).map(|_| starts.attempt(0));
    let mut race = Race::at(clock.timer()).of(Duration::ZERO, attempts);
    for index in 0..100 {
        assert_eq!(clock.run(race.next()), Ok(Some((index, 0))));
        assert_eq!(starts.millis().len(), index + 1);
    }
}

/// Only running attempts are certain to finish, because a policy may start no more.
#[test]
fn len_and_size_hint_count_down() {
    let clock = VirtualClock::new();
    let attempts = [30, 20, 10].map(|millis| clock.sleep(ms(millis)));
    let mut race = Race::at(clock.timer()).of(Duration::ZERO, attempts);
    assert_eq!(
        (race.len(), race.is_empty(), race.size_hint()),
        (0, true, (0, Some(3)))
    );
    for left in (0..3).rev() {
        clock.run(race.next()).unwrap();
        assert_eq!((race.len(), race.size_hint()), (left, (left, Some(left))));
        assert!(!race.is_terminated());
    }
    assert_eq!(clock.run(race.next()), Ok(None));
    assert!(race.is_terminated() && race.is_empty());

    // One candidate is drawn and one is in the source; then one is drawn and none is in the source.
    let attempts = [10, 10, 10].map(|millis| clock.sleep(ms(millis)));
    let mut race = Race::at(clock.timer()).of(ms(50), attempts);
    assert_eq!(clock.run(race.next()).unwrap(), Some((0, ())));
    assert_eq!(race.size_hint(), (0, Some(2)));
    assert_eq!(clock.run(race.next()).unwrap(), Some((1, ())));
    assert_eq!(race.size_hint(), (0, Some(1)));

    let hopeful = std::iter::from_fn(|| None::<std::future::Pending<()>>);
    let mut race = Race::at(clock.timer()).of(ms(1), hopeful);
    assert_eq!(race.size_hint(), (0, None));
    assert!(clock.run(race.next()).unwrap().is_none());
    assert_eq!(race.size_hint(), (0, Some(0)));

    let endless = Race::at(clock.timer()).of(ms(1), std::iter::repeat_with(pending::<()>));
    assert_eq!(endless.size_hint(), (0, None));
    assert_eq!(endless.max_attempts(7).size_hint(), (0, Some(7)));
}

#[test]
fn debug_shows_the_number_of_running_attempts() {
    let clock = VirtualClock::new();
    let attempts = [30, 20].map(|millis| clock.sleep(ms(millis)));
    let mut race = Race::at(clock.timer()).of(Duration::ZERO, attempts);
    clock.run(race.next()).unwrap();
    let text = format!("{race:?}");
    assert!(
        text.starts_with(
            "Race { running: Attempts { len: 1 }, schedule: Schedule { has_candidate: false, "
        ),
        "{text}"
    );
}
