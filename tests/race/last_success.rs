//! No race outlives its last possible success: with nothing running, it ends as soon as nothing can
//! start before its deadline.

use std::{task::Poll, time::Duration};

use futures::StreamExt as _;
use race::{
    Backoff, Budget, OnFailure, QuorumError, RaceError, Verdict,
    core::Race,
    observe::{Cause, Refusal},
    outcome::GenericRaceError,
    policy::Permit,
};

use crate::{
    probe::ms,
    scenario::{Candidate, Ended, HANGS, Scenario},
};

const TWO_FAIL: [Candidate; 2] = [(5, Err("E0")), (5, Err("E1"))];
const NEVER: Duration = Duration::MAX;

/// Why the race failed without having been cut off.
fn refused(ended: Ended) -> Option<Refusal> {
    match ended {
        Err(GenericRaceError::AllFailed { refused, .. }) => refused,
        other => panic!("all have failed: {other:?}"),
    }
}

#[test]
fn pause_that_outlasts_the_deadline_ends_the_race() {
    let scenario = Scenario::new();
    let race = scenario.race(Backoff::new(ms(10_000)), TWO_FAIL);
    let ended = scenario.run(race.deadline(ms(5_000)).first_ok());
    assert_eq!(
        ended.as_ref().unwrap_err().to_string(),
        "the attempt failed, and further ones were refused by the deadline: #0: E0"
    );
    assert_eq!(refused(ended), Some(Refusal::Deadline));
    assert_eq!(scenario.millis(), 5);
}

#[test]
fn start_at_the_deadline_is_too_late_and_one_before_it_is_not() {
    for (pause, starts) in [(4_994, vec![0, 4_999]), (4_995, vec![0])] {
        let scenario = Scenario::new();
        let race = scenario.race(Backoff::new(ms(pause)), TWO_FAIL);
        let ended = scenario.run(race.deadline(ms(5_000)).first_ok());
        assert_eq!(scenario.starts(), starts, "{ended:?}");
        match starts.len() {
            2 => assert!(
                matches!(ended, Err(RaceError::Deadline { .. })),
                "{ended:?}"
            ),
            _ => assert_eq!(
                (refused(ended), scenario.millis()),
                (Some(Refusal::Deadline), 5)
            ),
        }
    }
}

#[test]
fn minimum_gap_and_delay_that_outlast_the_deadline_end_the_race() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(20), TWO_FAIL).min_gap(ms(9_000));
    let ended = scenario.run(race.deadline(ms(5_000)).first_ok());
    assert_eq!(
        (refused(ended), scenario.millis()),
        (Some(Refusal::Deadline), 5)
    );

    let scenario = Scenario::new();
    let race = scenario
        .race(ms(9_000), TWO_FAIL)
        .on_failure(OnFailure::Wait);
    let ended = scenario.run(race.deadline(ms(5_000)).first_ok());
    assert_eq!(
        (refused(ended), scenario.millis()),
        (Some(Refusal::Deadline), 5)
    );
}

#[test]
fn pushback_that_outlasts_the_deadline_ends_the_race() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(20), TWO_FAIL).deadline(ms(5_000));
    let ended = scenario.run(race.first_ok_by(|_| Verdict::NotBefore(ms(60_000))));
    assert_eq!(
        (refused(ended), scenario.millis()),
        (Some(Refusal::Deadline), 5)
    );
}

#[test]
fn gate_that_is_asked_again_after_the_deadline_ends_the_race() {
    let scenario = Scenario::new();
    let candidates = [(60, Err("E0")), (5, Ok("1"))];
    let race = scenario.race(ms(50), candidates).deadline(ms(90));
    let ended = scenario.run(race.gate(|_| Permit::NotNow).first_ok());
    assert_eq!(
        (refused(ended), scenario.millis()),
        (Some(Refusal::Deadline), 60)
    );
}

/// Other races that share the budget may earn more before the deadline.
#[test]
fn refusal_of_a_budget_and_of_a_gate_are_final() {
    let scenario = Scenario::new();
    let budget = Budget::percent(0).charge_failover();
    let race = scenario.race(ms(20), TWO_FAIL).budget(&budget);
    let ended = scenario.run(race.deadline(ms(500)).first_ok());
    assert_eq!(
        (refused(ended), scenario.millis()),
        (Some(Refusal::Budget), 5)
    );

    let scenario = Scenario::new();
    let race = scenario.race(ms(20), TWO_FAIL).gate(|_| Permit::Stop);
    let ended = scenario.run(race.deadline(ms(500)).first_ok());
    assert_eq!(
        (refused(ended), scenario.millis()),
        (Some(Refusal::Gate), 5)
    );
}

#[test]
fn stream_and_first_end_when_nothing_can_start_before_the_deadline() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(9_000), TWO_FAIL).deadline(ms(5_000));
    assert_eq!(scenario.run(race.collect::<Vec<_>>()), [(0, Err("E0"))]);
    assert_eq!(scenario.millis(), 5);

    let scenario = Scenario::new();
    let race = scenario.race(ms(9_000), TWO_FAIL).deadline(ms(5_000));
    let race = race.attempt_timeout(ms(3));
    assert!(scenario.run(race.first()).is_none());
    assert_eq!(scenario.millis(), 3);
}

/// Nothing that the source could still give would start in time.
#[test]
fn source_is_not_awaited_for_a_start_that_is_too_late() {
    let scenario = Scenario::new();
    let mut attempts = scenario.attempts([(5, Err("E0"))]);
    let first = attempts.next().unwrap();
    let arrivals = futures::stream::iter([0]).chain(futures::stream::poll_fn(|_| Poll::Pending));
    let mut first = Some(first);
    let run = move |_: &i32| first.take().unwrap();
    let race = Race::at(scenario.clock.timer()).from_stream(Backoff::new(ms(9_000)), run, arrivals);
    let ended = scenario
        .run(race.deadline(ms(5_000)).first_ok())
        .unwrap_err();
    assert!(
        matches!(
            ended,
            RaceError::AllFailed {
                refused: Some(Refusal::Deadline),
                ..
            }
        ),
        "{ended:?}"
    );
    assert_eq!(scenario.millis(), 5);
}

#[test]
fn source_that_may_give_a_candidate_in_time_is_awaited() {
    let scenario = Scenario::new();
    let arrivals = futures::stream::pending::<u64>();
    let run = |&latency: &u64| {
        let sleep = scenario.clock.sleep(ms(latency));
        async move {
            sleep.await;
            Ok::<_, &str>(())
        }
    };
    let race = Race::at(scenario.clock.timer()).from_stream(ms(9_000), run, Box::pin(arrivals));
    let ended = scenario.run(race.deadline(ms(50)).first_ok()).unwrap_err();
    assert!(matches!(ended, RaceError::Deadline { .. }), "{ended:?}");
    assert_eq!(scenario.millis(), 50);
}

#[test]
fn quorum_ends_when_too_few_can_start_before_the_deadline() {
    let scenario = Scenario::new();
    let candidates = [(HANGS, Ok("0")), (5, Ok("1"))];
    let race = scenario.race(ms(20), candidates).min_gap(ms(9_000));
    let ended = scenario
        .run(race.deadline(ms(5_000)).quorum(2))
        .unwrap_err();
    let QuorumError::OutOfReach(tally) = ended else {
        panic!("{ended:?}");
    };
    assert_eq!(
        (tally.refused, scenario.millis()),
        (Some(Refusal::Deadline), 0)
    );

    let scenario = Scenario::new();
    let candidates = [(5, Err("E0")), (HANGS, Ok("1")), (9, Ok("2")), (5, Ok("3"))];
    let race = scenario.race(ms(2), candidates).deadline(ms(5_000));
    let ended = scenario.run(race.quorum_by(3, |output| match output {
        Ok(_) => Verdict::Accept,
        Err(_) => Verdict::NotBefore(ms(9_000)),
    }));
    let QuorumError::OutOfReach(tally) = ended.unwrap_err() else {
        panic!("the pushback leaves too few");
    };
    assert_eq!(
        (tally.refused, tally.failed.len()),
        (Some(Refusal::Deadline), 1)
    );
    assert_eq!((scenario.starts(), scenario.millis()), (vec![0, 2, 4], 5));
}

#[test]
fn quorum_that_nothing_can_complete_ends_at_once() {
    let scenario = Scenario::new();
    let candidates = [(HANGS, Ok("0")), (5, Ok("1"))];
    let race = scenario.race(|_| None, candidates);
    let race = race.on_failure(OnFailure::Wait);
    let QuorumError::OutOfReach(tally) = scenario.run(race.quorum(2)).unwrap_err() else {
        panic!("attempt 1 never starts");
    };
    assert_eq!(
        (tally.refused, scenario.millis()),
        (Some(Refusal::Policy), 0)
    );
}

#[test]
fn endless_pause_ends_a_race_with_and_without_a_deadline() {
    for deadline in [None, Some(ms(100))] {
        let scenario = Scenario::new();
        let race = scenario.race(Backoff::new(NEVER), TWO_FAIL);
        let ended = match deadline {
            None => scenario.run(race.first_ok()),
            Some(deadline) => scenario.run(race.deadline(deadline).first_ok()),
        };
        assert_eq!(
            (refused(ended), scenario.millis()),
            (Some(Refusal::Policy), 5)
        );
    }
}

#[test]
fn running_attempt_is_cut_off_by_the_deadline() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(9_000), [(HANGS, Ok("0")), (5, Ok("1"))]);
    let ended = scenario.run(race.deadline(ms(50)).first_ok());
    assert!(
        matches!(ended, Err(RaceError::Deadline { .. })),
        "{ended:?}"
    );
    assert_eq!(
        (scenario.causes(), scenario.millis()),
        (vec![(Cause::First, 0)], 50)
    );
}
