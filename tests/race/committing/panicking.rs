use std::panic::{AssertUnwindSafe, catch_unwind};

use race::{RaceError, core::Race, observe::EventKind, test::VirtualTimer};

use super::race;
use crate::{probe::ms, scenario::Scenario};

/// Polls a future until it is ready, through panics; counts them.
fn run_through_panics<F: Future + Unpin>(scenario: &Scenario, mut future: F) -> (F::Output, usize) {
    let mut panics = 0;
    loop {
        let polled = catch_unwind(AssertUnwindSafe(|| scenario.run(&mut future)));
        match polled {
            Ok(output) => return (output, panics),
            Err(_) => panics += 1,
        }
    }
}

#[test]
fn losers_are_removed_after_an_observer_panicked() {
    for kind in [EventKind::Committed, EventKind::Cancelled] {
        let scenario = Scenario::new();
        let mut armed = true;
        let plans = [(90, 0, Ok("0")), (10, 30, Ok("1")), (90, 0, Ok("2"))];
        let race = race(&scenario, 0, plans).on_event(scenario.record());
        let race = race.on_event(move |event| {
            if event.kind == kind && std::mem::take(&mut armed) {
                panic!("an observer");
            }
        });
        let (won, panics) = run_through_panics(&scenario, Box::pin(race.first_ok()));
        assert_eq!((won.unwrap().index, panics), (1, 1), "{kind:?}");
        assert_eq!(
            scenario.all(EventKind::Cancelled),
            [(0, 10), (2, 10)],
            "{kind:?}"
        );
    }
}

#[test]
fn losers_are_removed_after_one_panicked_in_its_drop() {
    struct Bomb(bool);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!self.0 || std::thread::panicking(), "a drop");
        }
    }
    let scenario = Scenario::new();
    let run = |&(commit, bomb): &(u64, bool), mut handle: race::AttemptHandle| {
        let clock = scenario.clock.clone();
        async move {
            let _bomb = Bomb(bomb);
            clock.sleep(ms(commit)).await;
            handle.commit().await;
            clock.sleep(ms(30)).await;
            Ok::<_, &str>(commit)
        }
    };
    let plans = [(90, true), (10, false), (95, false)];
    let race = Race::at(scenario.clock.timer()).committing(ms(0), run, plans);
    let race = race.on_event(scenario.record());
    let (won, panics) = run_through_panics(&scenario, Box::pin(race.first_ok()));
    assert_eq!((won.unwrap().index, panics), (1, 1));
    let mut cancelled = scenario.all(EventKind::Cancelled);
    cancelled.sort_unstable();
    assert_eq!(cancelled, [(0, 10), (2, 10)]);
}

#[test]
fn panic_after_a_commit_leaves_no_winner() {
    let scenario = Scenario::new();
    let run = |&panics: &bool, mut handle: race::AttemptHandle| {
        let clock = scenario.clock.clone();
        async move {
            clock.sleep(ms(10)).await;
            handle.commit().await;
            clock.sleep(ms(10)).await;
            assert!(!panics, "an attempt");
            Ok::<_, &str>(())
        }
    };
    let timer: VirtualTimer = scenario.clock.timer();
    let race = Race::at(timer).committing(ms(0), run, [true, false]);
    let (ended, panics) = run_through_panics(&scenario, Box::pin(race.first_ok()));
    assert!(matches!(ended, Err(RaceError::AllFailed { failed, .. }) if failed.is_empty()));
    assert_eq!(panics, 1);
}

#[test]
fn function_that_panicked_leaves_the_handle_of_the_next_attempt_right() {
    let scenario = Scenario::new();
    let mut calls = 0;
    let run = |_: &usize, mut handle: race::AttemptHandle| {
        calls += 1;
        assert_ne!(calls, 2, "the function");
        let clock = scenario.clock.clone();
        async move {
            clock
                .sleep(ms(if handle.index() == 0 { 300 } else { 10 }))
                .await;
            handle.commit().await;
            Ok::<_, &str>(handle.index())
        }
    };
    let race = Race::at(scenario.clock.timer()).committing(ms(50), run, 0..);
    let (won, panics) = run_through_panics(&scenario, Box::pin(race.first_ok()));
    let won = won.unwrap();
    assert_eq!((won.index, won.arg, won.output, panics), (1, 2, 1, 1));
}

#[test]
fn hold_of_an_attempt_that_panicked_holds_nothing() {
    let scenario = Scenario::new();
    let run = |_: &usize, handle: race::AttemptHandle| {
        let clock = scenario.clock.clone();
        async move {
            if handle.index() == 0 {
                std::mem::forget(handle.hold());
                clock.sleep(ms(5)).await;
                panic!("an attempt");
            }
            clock.sleep(ms(5)).await;
        }
    };
    let race = Race::at(scenario.clock.timer()).committing(ms(10), run, 0..2);
    let (won, panics) = run_through_panics(&scenario, Box::pin(race.first()));
    assert_eq!((won.map(|won| won.index), panics), (Some(1), 1));
    assert_eq!(scenario.millis(), 15);
}

#[test]
fn commit_in_a_function_that_panics_then_commits_nothing() {
    let scenario = Scenario::new();
    let mut calls = 0;
    let run = |_: &usize, mut handle: race::AttemptHandle| {
        calls += 1;
        if calls == 2 {
            assert!(handle.try_commit());
            panic!("the function");
        }
        let clock = scenario.clock.clone();
        async move {
            clock.sleep(ms(50)).await;
            handle.commit().await;
            Ok::<_, &str>(())
        }
    };
    let race = Race::at(scenario.clock.timer()).committing(ms(10), run, 0..2);
    let (won, panics) = run_through_panics(&scenario, Box::pin(race.first_ok()));
    assert_eq!((won.unwrap().index, panics), (0, 1));
}
