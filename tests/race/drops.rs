use std::{cell::RefCell, rc::Rc};

use race::{VirtualClock, core::Race};

use crate::probe::ms;

type Log = Rc<RefCell<Vec<(&'static str, usize)>>>;

struct Logged(Log, &'static str, usize);

impl Drop for Logged {
    fn drop(&mut self) {
        self.0.borrow_mut().push((self.1, self.2));
    }
}

/// Three attempts at 0, 50 and 100 that each take 30 or, the first, 1000.
fn race(clock: &VirtualClock, log: &Log) -> impl Future<Output = ()> {
    let (clock, log) = (clock.clone(), log.clone());
    async move {
        let args: Vec<_> = (0..3)
            .map(|place| Logged(log.clone(), "arg", place))
            .collect();
        let run = |arg: &Logged| {
            let future = Logged(log.clone(), "future", arg.2);
            let sleep = clock.sleep(ms(if arg.2 == 0 { 1_000 } else { 30 }));
            async move {
                let _future = future;
                sleep.await;
            }
        };
        let mut race = Race::new_with(clock.timer(), ms(50), run, args);
        while let Some((arg, ())) = race.next().await {
            log.borrow_mut().push(("out", arg.2));
        }
    }
}

#[test]
fn a_future_is_dropped_before_its_argument_comes_out() {
    let (clock, log) = (VirtualClock::new(), Log::default());
    clock.run(race(&clock, &log)).unwrap();
    let order = [1, 2, 0].map(|place| [("future", place), ("out", place), ("arg", place)]);
    assert_eq!(*log.borrow(), order.concat());
}

#[test]
fn everything_is_dropped_once_whenever_the_race_is_dropped() {
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
        for place in 0..3 {
            let count = |kind| log.iter().filter(|it| **it == (kind, place)).count();
            assert_eq!(count("arg"), 1, "#{place} at {until}");
            assert!(count("future") <= 1, "#{place} at {until}");
            if let Some(future) = at(("future", place)) {
                assert!(Some(future) < at(("arg", place)), "future then argument");
            }
        }
    }
}

#[test]
fn the_winner_cancels_the_others_at_once() {
    let (clock, log) = (VirtualClock::new(), Log::default());
    let attempt = |millis| {
        let (sleep, guard) = (clock.sleep(ms(millis)), Logged(log.clone(), "future", 0));
        async move {
            let _guard = guard;
            sleep.await;
            Ok::<_, ()>(())
        }
    };
    let mut first = Race::of_with(clock.timer(), ms(50), [500, 20].map(attempt)).first();
    clock.run(&mut first).unwrap().unwrap();
    assert_eq!(
        log.borrow().len(),
        2,
        "though `first` itself is still there"
    );

    let mut first_ok = Race::of_with(clock.timer(), ms(50), [500, 20].map(attempt)).first_ok();
    clock.run(&mut first_ok).unwrap().unwrap();
    assert_eq!(
        log.borrow().len(),
        4,
        "though `first_ok` itself is still there"
    );
}
