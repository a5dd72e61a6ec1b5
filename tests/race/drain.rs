//! Losers that are handed back.

use std::{cell::Cell, rc::Rc};

use futures::{
    StreamExt,
    stream::{FusedStream as _, Stream as _},
};
use race::{Fixed, RaceError, Verdict, What, core::Race};

use crate::{
    probe::ms,
    scenario::{HANGS, Scenario},
};

/// C7 of aiohappyeyeballs: four succeed by one event; one is returned, and no other is leaked.
#[test]
fn c7_multiple_winners_are_handed_back() {
    let scenario = Scenario::new();
    let race = scenario.race(Fixed(ms(0)), [(10, Ok("same")); 4]);
    let (won, late) = scenario.run(async {
        let (answer, losers) = race.first_ok_then_drain().await;
        (answer.unwrap(), losers.collect::<Vec<_>>().await)
    });
    assert_eq!(won.place, 0);
    assert_eq!(late, [1, 2, 3].map(|place| (place, Ok("same"))));
    assert_eq!(scenario.millis(), 10);
    assert_eq!(scenario.count(What::Cancelled), 0);
}

#[test]
fn nothing_starts_any_more() {
    let scenario = Scenario::new();
    let candidates = [(15, Ok("0")), (90, Err("E1")), (0, Ok("2")), (0, Ok("3"))];
    let race = scenario.race(Fixed(ms(10)), candidates);
    let late = scenario.run(async {
        let (answer, losers) = race.first_ok_then_drain().await;
        assert_eq!(answer.unwrap().place, 0);
        assert_eq!((losers.len(), losers.size_hint()), (1, (1, Some(1))));
        losers.collect::<Vec<_>>().await
    });
    assert_eq!(late, [(1, Err("E1"))]);
    assert_eq!(scenario.starts(), [0, 10]);
}

#[test]
fn who_drops_the_losers_cancels_them() {
    let scenario = Scenario::new();
    let race = scenario.race(Fixed(ms(0)), [(10, Ok("0")), (HANGS, Ok("1"))]);
    let (answer, losers) = scenario.run(race.first_ok_then_drain());
    assert!(answer.is_ok());
    assert_eq!(scenario.count(What::Cancelled), 0);
    drop(losers);
    assert_eq!(scenario.all(What::Cancelled), [(1, 10)]);
}

#[test]
fn an_error_hands_back_who_runs() {
    let scenario = Scenario::new();
    let race = scenario.race(Fixed(ms(0)), [(500, Ok("late")), (10, Err("E1"))]);
    let late = scenario.run(async {
        let (answer, mut losers) = race.first_ok_then_drain().deadline(ms(60)).await;
        assert!(matches!(answer, Err(RaceError::Deadline { failed, .. }) if failed.len() == 1));
        assert!(!losers.is_terminated());
        losers.next().await
    });
    assert_eq!(late, Some((0, Ok("late"))));

    let race = scenario.race(Fixed(ms(0)), [(500, Ok("late")), (10, Err("E1"))]);
    let (answer, losers) = scenario.run(race.first_by_then_drain(|output| match output {
        Ok(_) => Verdict::Accept,
        Err(_) => Verdict::Fatal,
    }));
    assert!(matches!(answer, Err(RaceError::Fatal { .. })));
    assert_eq!(losers.len(), 1);
}

#[test]
fn a_connection_of_each_is_used_or_goes_back_to_the_pool() {
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
    let race = Race::of_with(scenario.clock.timer(), ms(0), connect);
    let pool = scenario.run(async {
        let (answer, mut losers) = race.first_ok_then_drain().await;
        let mut pool = vec![answer.unwrap().output];
        while let Some((_, late)) = losers.next().await {
            pool.extend(late);
        }
        pool
    });
    assert_eq!((pool.len(), closed.get()), (3, 0));
}

/// The deadline is for the answer: whoever drains takes as long as the losers do.
#[test]
fn the_deadline_neither_ends_nor_prolongs_the_draining() {
    for deadline in [40, 10_000] {
        let scenario = Scenario::new();
        let race = scenario.race(Fixed(ms(5)), [(100, Ok("0")), (20, Ok("1"))]);
        let late = scenario.run(async {
            let drain = race.first_ok_then_drain().deadline(ms(deadline));
            let (answer, losers) = drain.await;
            assert_eq!(answer.unwrap().place, 1);
            losers.collect::<Vec<_>>().await
        });
        assert_eq!((late.len(), scenario.millis()), (1, 100));
    }
}
