//! Attempt timeouts and deadlines of races that are read as a stream or end with `first`.

use std::{future::pending, pin::pin};

use futures::{StreamExt as _, stream::FusedStream};
use race::{InlineRace, core::Race, observe::EventKind};

use crate::{
    probe::{ms, yield_now},
    scenario::{HANGS, Scenario},
};

#[test]
fn timed_out_attempt_yields_no_item() {
    let scenario = Scenario::new();
    let candidates = [(HANGS, Ok("0")), (30, Ok("1")), (HANGS, Ok("2"))];
    let race = scenario.race(ms(10), candidates);
    let mut race = race.attempt_timeout(ms(100));
    assert_eq!(scenario.run(race.next()), Some((1, Ok("1"))));
    assert_eq!(scenario.millis(), 40);
    assert_eq!(scenario.run(race.next()), None);
    assert!(race.is_terminated() && race.is_empty());
    assert_eq!(scenario.run(race.next()), None);
    assert_eq!(scenario.all(EventKind::TimedOut), [(0, 100), (2, 120)]);
    assert_eq!(scenario.count(EventKind::Cancelled), 0);
}

#[test]
fn stream_ends_at_the_deadline() {
    let scenario = Scenario::new();
    let candidates = std::iter::repeat((HANGS, Ok("")));
    let mut race = scenario.race(ms(30), candidates).deadline(ms(80));
    assert_eq!(scenario.run(race.next()), None);
    assert!(race.is_terminated() && race.is_empty());
    assert_eq!(scenario.run(race.next()), None);
    assert_eq!(
        (scenario.starts(), scenario.millis()),
        (vec![0, 30, 60], 80)
    );
    let cancelled = [(0, 80), (1, 80), (2, 80)];
    assert_eq!(scenario.all(EventKind::Cancelled), cancelled);
    drop(race);
    assert_eq!(scenario.count(EventKind::Cancelled), 3);
}

#[test]
fn deadline_counts_from_the_first_poll_if_the_first_attempt_is_ready_at_once() {
    let scenario = Scenario::new();
    let candidates = [(0, Ok("0")), (HANGS, Ok("1"))];
    let mut race = scenario.race(ms(10), candidates).deadline(ms(80));
    assert_eq!(scenario.run(race.next()), Some((0, Ok("0"))));
    scenario.clock.advance(ms(50)); // the consumer takes its time
    assert_eq!(scenario.run(race.next()), None);
    assert_eq!(scenario.millis(), 80);
}

#[test]
fn first_returns_none_if_all_time_out_or_the_deadline_passes() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(10), [(HANGS, Ok("")); 2]);
    assert_eq!(scenario.run(race.attempt_timeout(ms(70)).first()), None);
    assert_eq!(scenario.all(EventKind::TimedOut), [(0, 70), (1, 80)]);

    let scenario = Scenario::new();
    let race = scenario.race(ms(10), [(HANGS, Ok("")); 2]);
    assert_eq!(scenario.run(race.deadline(ms(70)).first()), None);
    assert_eq!(scenario.all(EventKind::Cancelled), [(0, 70), (1, 70)]);
}

#[test]
fn first_skips_timed_out_attempts() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(60), [(HANGS, Ok("")), (45, Ok("1"))]);
    let won = scenario.run(race.attempt_timeout(ms(50)).first()).unwrap();
    assert_eq!((won.index, won.elapsed), (1, ms(105)));
    assert_eq!(scenario.all(EventKind::TimedOut), [(0, 50)]);
    assert_eq!(scenario.all(EventKind::Won), [(1, 105)]);
}

#[test]
fn inline_stream_has_timeouts_and_deadline() {
    let scenario = Scenario::new();
    let inline = |candidates: [_; 3]| {
        let attempts = scenario.attempts(candidates);
        InlineRace::<2, _, _>::at(scenario.clock.timer())
            .of(ms(10), attempts)
            .on_event(scenario.record())
    };
    let candidates = [(HANGS, Ok("0")), (HANGS, Ok("1")), (30, Ok("2"))];
    let mut race = pin!(inline(candidates).attempt_timeout(ms(100)));
    assert_eq!(scenario.run(race.as_mut().next()), Some((2, Ok("2"))));
    assert_eq!(scenario.millis(), 130);
    assert_eq!(scenario.run(race.as_mut().next()), None);
    assert!(race.is_terminated() && race.is_empty());
    assert_eq!(scenario.all(EventKind::TimedOut), [(0, 100), (1, 110)]);

    let mut race = pin!(inline(candidates).deadline(ms(50)));
    assert_eq!(scenario.run(race.as_mut().next()), None);
    assert!(race.is_terminated() && race.is_empty());
    assert_eq!(scenario.all(EventKind::Cancelled), [(0, 180), (1, 180)]);

    let won = scenario.run(inline(candidates).attempt_timeout(ms(100)).first());
    assert_eq!(won.unwrap().index, 2);
    assert_eq!(
        scenario.run(inline(candidates).deadline(ms(50)).first()),
        None
    );
}

#[test]
fn hundred_timeouts_at_once_end_the_stream() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(0), [(HANGS, Ok("")); 100]);
    let items = scenario.run(race.attempt_timeout(ms(7)).count());
    assert_eq!((items, scenario.millis()), (0, 7));
    assert_eq!(scenario.count(EventKind::TimedOut), 100);
}

/// The timeout of an attempt that panicked must not end the stream or another attempt.
#[test]
fn timeout_of_a_panicked_attempt_is_ignored() {
    let scenario = Scenario::new();
    let run = |&index: &usize| {
        let (first, second) = (scenario.clock.sleep(ms(20)), scenario.clock.sleep(ms(70)));
        async move {
            first.await;
            assert_ne!(index, 0, "on purpose");
            second.await;
        }
    };
    let race = Race::at(scenario.clock.timer()).new(ms(40), run, 0..2);
    let mut race = race.attempt_timeout(ms(100));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        scenario.run(race.next());
    }));
    assert!(panicked.is_err());
    assert_eq!(scenario.run(race.next()), Some((1, ())));
    assert_eq!(scenario.millis(), 130);
    assert_eq!(scenario.run(race.next()), None);
}

/// The poll that starts the second attempt also completes the first. The consumer is then away for
/// 30 ms.
#[test]
fn attempt_timeout_counts_from_a_start_that_completes_another_attempt() {
    let scenario = Scenario::new();
    let run = |&index: &usize| async move {
        match index {
            0 => yield_now().await,
            _ => pending().await,
        }
    };
    let race = Race::at(scenario.clock.timer()).new(ms(0), run, 0..2);
    let mut race = race.attempt_timeout(ms(50));
    assert_eq!(scenario.run(race.next()), Some((0, ())));
    scenario.clock.advance(ms(30));
    assert_eq!(scenario.run(race.next()), None);
    assert_eq!(scenario.millis(), 50);
}
