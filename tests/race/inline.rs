//! The race without an allocator.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    time::Duration,
};

use futures::{StreamExt, future::pending, poll, stream::FusedStream};
use race::{CatchUp, InlineRace, test::VirtualClock};

use crate::probe::{Trace, ms, yield_now};

#[test]
fn attempts_come_out_in_the_order_in_which_they_finish() {
    let clock = VirtualClock::new();
    let (starts, ends) = (Trace::new(&clock), Trace::new(&clock));
    let attempts = [100, 20, 80].map(|millis| starts.attempt(millis));
    let race = InlineRace::<3, _, _>::at(clock.timer()).of(ms(50), attempts);
    let order: Vec<usize> = clock
        .run(
            race.inspect(|_| ends.note())
                .map(|(index, _)| index)
                .collect(),
        )
        .unwrap();
    assert_eq!(order, [1, 0, 2]);
    assert_eq!(ends.millis(), [70, 100, 180]);
    assert_eq!(starts.millis(), [0, 50, 100]);
}

#[test]
fn waiting_for_a_slot_is_not_made_up_for() {
    for catch_up in [CatchUp::Delay, CatchUp::Burst, CatchUp::Skip] {
        let clock = VirtualClock::new();
        let starts = Trace::new(&clock);
        let attempts = (0..4).map(|_| starts.attempt(1_003));
        let race = InlineRace::<2, _, _>::at(clock.timer()).of(ms(10), attempts);
        assert_eq!(clock.run(race.catch_up(catch_up).count()), Ok(4));
        assert_eq!(starts.millis(), [0, 10, 1_003, 1_013], "{catch_up:?}");
    }
}

#[test]
fn first_returns_the_winner_or_none() {
    let clock = VirtualClock::new();
    let run = |millis: &u64| clock.sleep(ms(*millis));
    let race = InlineRace::<3, _, _>::at(clock.timer()).new(ms(50), run, [100, 20, 80]);
    let won = clock.run(race.first()).unwrap().unwrap();
    assert_eq!((won.arg, won.index, won.elapsed), (20, 1, ms(70)));

    let race = InlineRace::<1, _, _>::at(clock.timer()).new(ms(50), run, []);
    assert_eq!(clock.run(race.first()), Ok(None));
}

#[test]
fn zero_delay_over_an_endless_source_does_not_hang_a_poll() {
    let clock = VirtualClock::new();
    let attempts = std::iter::repeat_with(pending::<()>);
    let race = InlineRace::<100, _, _>::at(clock.timer()).of(Duration::ZERO, attempts);
    let mut race = pin!(race);
    clock
        .run(async {
            for _ in 0..10 {
                assert!(poll!(race.as_mut().next()).is_pending());
            }
        })
        .unwrap();
    assert_eq!(race.len(), 100);
}

#[test]
fn panicking_attempt_leaves_the_others() {
    let clock = VirtualClock::new();
    let dropped = Cell::new(0);
    struct OnDrop<'a>(&'a Cell<usize>);
    impl Drop for OnDrop<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let run = |index: &usize| {
        let (clock, index, guard) = (clock.clone(), *index, OnDrop(&dropped));
        async move {
            let _guard = guard;
            clock.sleep(ms(70)).await;
            assert_ne!(index, 1, "as the test wants");
        }
    };
    let race = InlineRace::<3, _, _>::at(clock.timer()).new(Duration::ZERO, run, 0..3);
    let mut race = Box::pin(race);
    assert_eq!(clock.run(race.as_mut().next()), Ok(Some((0, ()))));
    let panicked = catch_unwind(AssertUnwindSafe(|| clock.run(race.as_mut().next())));
    assert!(panicked.is_err());
    assert_eq!((race.len(), dropped.get()), (1, 2));
    assert_eq!(clock.run(race.as_mut().next()), Ok(Some((2, ()))));
    assert_eq!(clock.run(race.as_mut().next()), Ok(None));
    assert!(race.is_terminated() && race.is_empty());
    assert_eq!(dropped.get(), 3);
}

#[test]
fn slot_that_is_refilled_does_not_starve_the_others() {
    let clock = VirtualClock::new();
    let attempts = (0..30).map(|_| yield_now());
    let race = InlineRace::<2, _, _>::at(clock.timer()).of(Duration::ZERO, attempts);
    let order: Vec<_> = clock.run(race.map(|(index, ())| index).collect()).unwrap();
    assert_eq!(order, (0..30).collect::<Vec<_>>());
}
