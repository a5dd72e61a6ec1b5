use std::{cell::Cell, future::pending, time::Duration};

use futures::{Stream, StreamExt, poll, stream::FusedStream};
use race::{VirtualClock, core::Race};

use crate::probe::{Trace, ms};

#[test]
fn no_more_run_than_max_in_flight() {
    for (max, most) in [(8, 8), (1, 1), (0, 1)] {
        let clock = VirtualClock::new();
        let running = Cell::new((0, 0));
        let run = |_: &u64| async {
            let (now, peak) = running.get();
            running.set((now + 1, peak.max(now + 1)));
            clock.sleep(ms(5)).await;
            running.set((running.get().0 - 1, running.get().1));
        };
        let race = Race::new_with(clock.timer(), Duration::ZERO, run, 0..).max_in_flight(max);
        let taken: Vec<_> = clock.run(race.map(|(n, ())| n).take(40).collect()).unwrap();
        assert_eq!(taken, (0..40).collect::<Vec<_>>());
        assert_eq!(running.get().1, most);
    }
}

#[test]
fn an_endless_source_without_step_or_bound_never_hangs_a_poll() {
    let clock = VirtualClock::new();
    let attempts = std::iter::repeat_with(pending::<()>);
    let mut race = Race::of_with(clock.timer(), Duration::ZERO, attempts);
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
fn what_has_finished_is_delivered_before_more_is_started() {
    let clock = VirtualClock::new();
    let starts = Trace::new(&clock);
    let attempts = (0..).map(|_| starts.attempt(0));
    let mut race = Race::of_with(clock.timer(), Duration::ZERO, attempts);
    for place in 0..100 {
        assert_eq!(clock.run(race.next()), Ok(Some((place, 0))));
        assert_eq!(starts.millis().len(), place + 1);
    }
}

/// Only those that run are certain to finish, since a policy may start no more.
#[test]
fn len_and_size_hint_count_down() {
    let clock = VirtualClock::new();
    let attempts = [30, 20, 10].map(|millis| clock.sleep(ms(millis)));
    let mut race = Race::of_with(clock.timer(), Duration::ZERO, attempts);
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

    // One is in hand and one is still with the source; then none is.
    let attempts = [10, 10, 10].map(|millis| clock.sleep(ms(millis)));
    let mut race = Race::of_with(clock.timer(), ms(50), attempts);
    assert_eq!(clock.run(race.next()).unwrap(), Some((0, ())));
    assert_eq!(race.size_hint(), (0, Some(2)));
    assert_eq!(clock.run(race.next()).unwrap(), Some((1, ())));
    assert_eq!(race.size_hint(), (0, Some(1)));

    let hopeful = std::iter::from_fn(|| None::<std::future::Pending<()>>);
    let mut race = Race::of_with(clock.timer(), ms(1), hopeful);
    assert_eq!(race.size_hint(), (0, None));
    assert!(clock.run(race.next()).unwrap().is_none());
    assert_eq!(race.size_hint(), (0, Some(0)));

    let endless = Race::of_with(clock.timer(), ms(1), std::iter::repeat_with(pending::<()>));
    assert_eq!(endless.size_hint(), (0, None));
    assert_eq!(endless.max_attempts(7).size_hint(), (0, Some(7)));
}

#[test]
fn a_race_says_how_it_stands() {
    let clock = VirtualClock::new();
    let attempts = [30, 20].map(|millis| clock.sleep(ms(millis)));
    let mut race = Race::of_with(clock.timer(), Duration::ZERO, attempts);
    clock.run(race.next()).unwrap();
    let text = format!("{race:?}");
    assert!(
        text.starts_with("Race { running: 1, course: Course { started: 2, "),
        "{text}"
    );
}
