//! Handles that were moved out of their attempts.

use std::{cell::RefCell, future::pending};

use race::{AttemptHandle, core::Race, observe::EventKind, policy::Permit};

use crate::{probe::ms, scenario::Scenario};

#[test]
fn handle_that_outlives_its_race_commits_nothing() {
    let scenario = Scenario::new();
    for wins in [true, false] {
        let handles = RefCell::new(vec![]);
        let run = |_: &usize, handle: AttemptHandle| {
            let index = handle.index();
            handles.borrow_mut().push(handle);
            let clock = scenario.clock.clone();
            async move {
                if index == 0 || !wins {
                    pending::<()>().await;
                }
                clock.sleep(ms(10)).await;
            }
        };
        let race = Race::at(scenario.clock.timer()).committing(ms(0), run, 0..2);
        let won = scenario.run(race.deadline(ms(50)).first());
        assert_eq!(won.is_some(), wins);
        let mut handles = handles.into_inner();
        assert_eq!(
            handles.iter_mut().map(AttemptHandle::try_commit).max(),
            Some(wins)
        );
        assert!(!handles[0].try_commit());
    }
}

#[test]
fn commit_after_the_attempts_were_polled_is_heard_in_the_next_poll() {
    let scenario = Scenario::new();
    let first = RefCell::new(None);
    let run = |_: &usize, handle: AttemptHandle| {
        *first.borrow_mut() = Some(handle);
        let clock = scenario.clock.clone();
        async move {
            clock.sleep(ms(500)).await;
            Ok::<_, &str>(())
        }
    };
    // The gate is asked at 50, after the poll of the attempt.
    let gate = |_: &race::policy::RaceState<'_>| {
        assert!(
            first
                .borrow_mut()
                .as_mut()
                .is_some_and(AttemptHandle::try_commit)
        );
        Permit::Stop
    };
    let race = Race::at(scenario.clock.timer()).committing(ms(50), run, 0..);
    let race = race.gate(gate).on_event(scenario.record());
    scenario.run(race.first_ok()).unwrap();
    assert_eq!(scenario.all(EventKind::Committed), [(0, 50)]);
}
