use std::{
    cell::RefCell,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
};

use futures::stream::FusedStream as _;
use race::{InlineRace, core::Race, test::VirtualClock};

use crate::probe::ms;

type Log = Rc<RefCell<Vec<(&'static str, usize)>>>;

struct Logged(Log, &'static str, usize);

impl Drop for Logged {
    fn drop(&mut self) {
        self.0.borrow_mut().push((self.1, self.2));
    }
}

/// Three attempts that start at 0, 50 and 100. The first takes 1000 ms, the others 30.
fn race(clock: &VirtualClock, log: &Log) -> impl Future<Output = ()> {
    let (clock, log) = (clock.clone(), log.clone());
    async move {
        let args: Vec<_> = (0..3)
            .map(|index| Logged(log.clone(), "arg", index))
            .collect();
        let run = |arg: &Logged| {
            let future = Logged(log.clone(), "future", arg.2);
            let sleep = clock.sleep(ms(if arg.2 == 0 { 1_000 } else { 30 }));
            async move {
                let _future = future;
                sleep.await;
            }
        };
        let mut race = Race::at(clock.timer()).new(ms(50), run, args);
        while let Some((arg, ())) = race.next().await {
            log.borrow_mut().push(("out", arg.2));
        }
    }
}

#[test]
fn future_is_dropped_before_its_argument_comes_out() {
    let (clock, log) = (VirtualClock::new(), Log::default());
    clock.run(race(&clock, &log)).unwrap();
    let order = [1, 2, 0].map(|index| [("future", index), ("out", index), ("arg", index)]);
    assert_eq!(*log.borrow(), order.concat());
}

#[test]
fn dropping_the_race_at_any_time_drops_everything_once() {
    for until in [0, 25, 50, 75, 80, 90, 105, 130, 900] {
        let (clock, log) = (VirtualClock::new(), Log::default());
        let stopped = async {
            let pause = clock.sleep(ms(until));
            let race = Box::pin(race(&clock, &log));
            drop(futures::future::select(race, pause).await);
        };
        clock.run(stopped).unwrap();
        let log = log.borrow();
        let at = |what| log.iter().position(|it| *it == what);
        for index in 0..3 {
            let count = |kind| log.iter().filter(|it| **it == (kind, index)).count();
            assert_eq!(count("arg"), 1, "#{index} at {until}");
            assert!(count("future") <= 1, "#{index} at {until}");
            if let Some(future) = at(("future", index)) {
                assert!(
                    Some(future) < at(("arg", index)),
                    "the future is dropped before its argument"
                );
            }
        }
    }
}

#[test]
fn win_cancels_the_others_at_once() {
    let (clock, log) = (VirtualClock::new(), Log::default());
    let attempt = |millis| {
        let (sleep, guard) = (clock.sleep(ms(millis)), Logged(log.clone(), "future", 0));
        async move {
            let _guard = guard;
            sleep.await;
            Ok::<_, ()>(())
        }
    };
    let mut first = Race::at(clock.timer())
        .of(ms(50), [500, 20].map(attempt))
        .first();
    clock.run(&mut first).unwrap().unwrap();
    assert_eq!(log.borrow().len(), 2, "`first` itself is not dropped yet");

    let mut first_ok = Race::at(clock.timer())
        .of(ms(50), [500, 20].map(attempt))
        .first_ok();
    clock.run(&mut first_ok).unwrap().unwrap();
    assert_eq!(
        log.borrow().len(),
        4,
        "`first_ok` itself is not dropped yet"
    );
}

/// The drop of loser 0 panics.
async fn guarded(clock: VirtualClock, log: Log, index: usize, millis: u64) -> Result<(), ()> {
    struct PanicsOnDrop(Log, usize);
    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            self.0.borrow_mut().push(("future", self.1));
            assert_ne!(self.1, 0, "on purpose");
        }
    }
    let _guard = PanicsOnDrop(log, index);
    clock.sleep(ms(millis)).await;
    Ok(())
}

#[test]
fn panic_in_the_drop_of_a_loser_propagates_and_all_others_are_dropped() {
    for inline in [false, true] {
        let (clock, log) = (VirtualClock::new(), Log::default());
        let attempts = [500, 20, 500, 500].into_iter().enumerate();
        let attempts =
            attempts.map(|(index, millis)| guarded(clock.clone(), log.clone(), index, millis));
        let timer = clock.timer();
        let panicked = match inline {
            false => {
                let race = Race::at(timer).of(ms(0), attempts).first_ok();
                catch_unwind(AssertUnwindSafe(|| drop(clock.run(race))))
            }
            true => {
                let race = InlineRace::<4, _, _>::at(timer)
                    .of(ms(0), attempts)
                    .first_ok();
                catch_unwind(AssertUnwindSafe(|| drop(clock.run(race))))
            }
        };
        assert!(panicked.is_err());
        let mut dropped = log.take();
        dropped.sort();
        assert_eq!(dropped, [0, 1, 2, 3].map(|index| ("future", index)));
    }
}

#[test]
fn panic_in_the_drop_of_a_timed_out_attempt_leaves_the_others() {
    let (clock, log) = (VirtualClock::new(), Log::default());
    let attempts = [500, 90, 95].into_iter().enumerate();
    let attempts =
        attempts.map(|(index, millis)| guarded(clock.clone(), log.clone(), index, millis));
    let race = Race::at(clock.timer()).of(ms(10), attempts);
    let mut race = race.attempt_timeout(ms(100));
    let mut items = Vec::new();
    let mut panics = 0;
    while !race.is_terminated() {
        match catch_unwind(AssertUnwindSafe(|| clock.run(race.next()))) {
            Ok(item) => items.extend(item.unwrap().map(|(index, _)| index)),
            Err(_) => panics += 1,
        }
    }
    assert_eq!((items, panics), (vec![1, 2], 1));
    assert_eq!(log.borrow().len(), 3);
}
