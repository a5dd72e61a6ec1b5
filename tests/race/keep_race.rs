//! The race that comes back with its running losers.

use std::{cell::Cell, rc::Rc};

use futures::{
    StreamExt,
    stream::{FusedStream as _, Stream as _},
};
use race::{RaceError, Verdict, core::Race, observe::EventKind};

use crate::{
    probe::ms,
    scenario::{HANGS, Scenario},
};

/// Four attempts succeed by one event. One is returned, and the others are not leaked.
#[test]
fn aiohappyeyeballs_c7_late_winners_are_handed_back() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(0), [(10, Ok("same")); 4]);
    let (won, late) = scenario.run(async {
        let (answer, losers) = race.first_ok().keep_race().await;
        (answer.unwrap(), losers.collect::<Vec<_>>().await)
    });
    assert_eq!(won.index, 0);
    assert_eq!(late, [1, 2, 3].map(|index| (index, Ok("same"))));
    assert_eq!(scenario.millis(), 10);
    assert_eq!(scenario.count(EventKind::Cancelled), 0);
}

#[test]
fn kept_race_starts_nothing() {
    let scenario = Scenario::new();
    let candidates = [(15, Ok("0")), (90, Err("E1")), (0, Ok("2")), (0, Ok("3"))];
    let race = scenario.race(ms(10), candidates);
    let late = scenario.run(async {
        let (answer, losers) = race.first_ok().keep_race().await;
        assert_eq!(answer.unwrap().index, 0);
        assert_eq!((losers.len(), losers.size_hint()), (1, (1, Some(1))));
        losers.collect::<Vec<_>>().await
    });
    assert_eq!(late, [(1, Err("E1"))]);
    assert_eq!(scenario.starts(), [0, 10]);
}

#[test]
fn dropping_the_kept_race_cancels_the_losers() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(0), [(10, Ok("0")), (HANGS, Ok("1"))]);
    let (answer, losers) = scenario.run(race.first_ok().keep_race());
    assert!(answer.is_ok());
    assert_eq!(scenario.count(EventKind::Cancelled), 0);
    drop(losers);
    assert_eq!(scenario.all(EventKind::Cancelled), [(1, 10)]);
}

#[test]
fn failed_race_hands_back_the_running_attempts() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(0), [(500, Ok("late")), (10, Err("E1"))]);
    let late = scenario.run(async {
        let (answer, mut losers) = race.deadline(ms(60)).first_ok().keep_race().await;
        assert!(matches!(answer, Err(RaceError::Deadline { failed, .. }) if failed.len() == 1));
        assert!(!losers.is_terminated());
        losers.next().await
    });
    assert_eq!(late, Some((0, Ok("late"))));

    let race = scenario.race(ms(0), [(500, Ok("late")), (10, Err("E1"))]);
    let first = race.first_by(|output| match output {
        Ok(_) => Verdict::Accept,
        Err(_) => Verdict::Fatal,
    });
    let (answer, losers) = scenario.run(first.keep_race());
    assert!(matches!(answer, Err(RaceError::Fatal { .. })));
    assert_eq!(losers.len(), 1);
}

#[test]
fn connections_of_losers_go_back_to_the_pool() {
    struct Connection(Rc<Cell<usize>>);
    impl Drop for Connection {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let scenario = Scenario::new();
    let closed = Rc::new(Cell::new(0));
    let connect = [30, 10, 20].map(|latency| {
        let (sleep, closed) = (scenario.clock.sleep(ms(latency)), closed.clone());
        async move {
            let connection = Connection(closed);
            sleep.await;
            Ok::<_, ()>(connection)
        }
    });
    let race = Race::at(scenario.clock.timer()).of(ms(0), connect);
    let pool = scenario.run(async {
        let (answer, mut losers) = race.first_ok().keep_race().await;
        let mut pool = vec![answer.unwrap().output];
        while let Some((_, late)) = losers.next().await {
            pool.extend(late);
        }
        pool
    });
    assert_eq!((pool.len(), closed.get()), (3, 0));
}

#[test]
fn deadline_does_not_apply_to_the_kept_race() {
    for deadline in [40, 10_000] {
        let scenario = Scenario::new();
        let race = scenario.race(ms(5), [(100, Ok("0")), (20, Ok("1"))]);
        let late = scenario.run(async {
            let drain = race.deadline(ms(deadline)).first_ok().keep_race();
            let (answer, losers) = drain.await;
            assert_eq!(answer.unwrap().index, 1);
            losers.collect::<Vec<_>>().await
        });
        assert_eq!((late.len(), scenario.millis()), (1, 100));
    }
}

#[test]
fn first_by_and_quorum_keep_the_race() {
    let scenario = Scenario::new();
    let candidates = [(30, Ok("0")), (10, Ok("1")), (20, Err("E2"))];
    let race = scenario.race(ms(0), candidates);
    let first = race.first_by(|_| Verdict::Accept).keep_race();
    let (answer, losers) = scenario.run(first);
    assert_eq!(answer.unwrap().index, 1);
    let late: Vec<_> = scenario.run(losers.collect());
    assert_eq!(late, [(2, Err("E2")), (0, Ok("0"))]);

    let race = scenario.race(ms(0), [(30, Ok("0")), (10, Ok("1")), (20, Ok("2"))]);
    let (answer, losers) = scenario.run(race.quorum(2).keep_race());
    assert_eq!(answer.unwrap().len(), 2);
    let late: Vec<_> = scenario.run(losers.collect());
    assert_eq!(late, [(0, Ok("0"))]);
    assert_eq!(scenario.count(EventKind::Cancelled), 0);
}

#[test]
fn attempt_timeout_does_not_apply_to_the_kept_race() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(0), [(500, Ok("0")), (20, Ok("1"))]);
    let first = race.attempt_timeout(ms(100)).first_ok().keep_race();
    let (answer, losers) = scenario.run(first);
    assert_eq!(answer.unwrap().index, 1);
    let late: Vec<_> = scenario.run(losers.collect());
    assert_eq!((late, scenario.millis()), (vec![(0, Ok("0"))], 500));
    assert_eq!(scenario.count(EventKind::TimedOut), 0);
}

#[test]
fn into_args_cancels_the_losers_and_returns_their_arguments() {
    let scenario = Scenario::new();
    let ask = |name: &String| {
        let sleep = scenario.clock.sleep(ms(name.len() as u64));
        async move {
            sleep.await;
            Ok::<_, ()>(())
        }
    };
    let names = ["a", "three", "no", "never started"].map(String::from);
    let race = Race::at(scenario.clock.timer())
        .new(ms(0), ask, names)
        .max_attempts(3)
        .on_event(scenario.record());
    let (answer, losers) = scenario.run(race.first_ok().keep_race());
    assert_eq!(answer.unwrap().arg, "a");
    let mut args = losers.into_args();
    args.sort();
    assert_eq!(args, ["no", "three"]);
    let mut cancelled = scenario.all(EventKind::Cancelled);
    cancelled.sort();
    assert_eq!(cancelled, [(1, 1), (2, 1)]);
}

#[test]
fn into_args_of_a_race_that_was_not_polled_is_empty() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(0), [(30, Ok("0"))]);
    assert_eq!(race.into_args(), []);
    assert_eq!(scenario.events(), []);
}
