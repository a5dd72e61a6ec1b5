//! Limits of zero, durations of zero and never, and races without candidates.

use std::time::Duration;

use race::{InlineRace, QuorumError, RaceError, Steps, Verdict, observe::Refusal};

use crate::{
    probe::ms,
    scenario::{HANGS, Scenario, errors, won},
};

#[test]
fn max_attempts_limits_starts_and_draws() {
    let scenario = Scenario::new();
    let mut drawn = 0;
    let candidates = std::iter::repeat_with(|| {
        drawn += 1;
        (5, Err("down"))
    });
    let race = scenario.race(ms(1), candidates).max_attempts(3);
    assert_eq!(errors(scenario.run(race.first_ok())).len(), 3);
    assert_eq!(drawn, 3);
}

#[test]
fn race_without_candidates_ends_at_once_with_every_finisher() {
    let scenario = Scenario::new();
    let race = || scenario.race(ms(10), []);
    assert_eq!(scenario.run(race().first()), None);
    assert_eq!(
        scenario.run(race().first_ok()),
        Err(RaceError::NoCandidates)
    );
    let first_by = race().deadline(ms(0)).first_by(|_| Verdict::Accept);
    assert_eq!(scenario.run(first_by), Err(RaceError::NoCandidates));
    let quorum = scenario.run(race().quorum(2));
    assert_eq!(quorum, Err(QuorumError::NoCandidates));
    assert_eq!(scenario.run(race().quorum(0)), Ok(vec![]));
    let (answer, mut losers) = scenario.run(race().first_ok().keep_race());
    assert_eq!(answer, Err(RaceError::NoCandidates));
    assert_eq!(scenario.run(losers.next()), None);
    assert_eq!(scenario.millis(), 0);
}

/// With an inexact size hint, the race has to draw to find out that there is no candidate.
#[test]
fn race_without_candidates_and_without_size_hint_has_no_candidates() {
    let scenario = Scenario::new();
    let race = || {
        let none = std::iter::repeat_n((0, Ok("0")), 3).filter(|_| false);
        scenario.race(ms(10), none)
    };
    let ended = scenario.run(race().first_ok());
    assert_eq!(ended, Err(RaceError::NoCandidates));
    let ended = scenario.run(race().quorum(2));
    assert_eq!(ended, Err(QuorumError::NoCandidates));
}

#[test]
fn max_attempts_of_zero_starts_nothing() {
    let scenario = Scenario::new();
    let race = || scenario.race(ms(10), [(0, Ok("0")); 3]).max_attempts(0);
    let error = scenario.run(race().first_ok()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no attempt could start, refused by max_attempts"
    );
    let error = scenario.run(race().quorum(2)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the quorum is out of reach, with 0 of 2 attempts accepted and further ones refused by \
         max_attempts"
    );
    assert_eq!(scenario.run(race().first()), None);
    assert_eq!(scenario.run(race().next()), None);
    assert_eq!((scenario.starts(), scenario.millis()), (vec![], 0));
}

#[test]
fn max_in_flight_of_zero_starts_nothing() {
    let scenario = Scenario::new();
    let race = || scenario.race(ms(10), [(0, Ok("0")); 3]).max_in_flight(0);
    let error = scenario.run(race().first_ok()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no attempt could start, refused by max_in_flight"
    );
    assert!(matches!(
        scenario.run(race().quorum(2)),
        Err(QuorumError::OutOfReach(tally)) if tally.refused == Some(Refusal::MaxInFlight)
    ));
    assert_eq!(scenario.run(race().first()), None);
    assert_eq!(scenario.run(race().next()), None);
    assert_eq!((scenario.starts(), scenario.millis()), (vec![], 0));
}

#[test]
fn limits_of_zero_end_an_inline_race_at_once() {
    let scenario = Scenario::new();
    let race = || {
        let attempts = scenario.attempts([(0, Ok("0")); 3]);
        InlineRace::<2, _, _>::at(scenario.clock.timer()).of(ms(10), attempts)
    };
    assert_eq!(scenario.run(race().max_attempts(0).first()), None);
    assert_eq!(scenario.run(race().max_in_flight(0).first()), None);
}

#[test]
fn quorum_of_zero_succeeds_at_once_and_starts_nothing() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(10), [(0, Ok("0")); 3]);
    assert_eq!(scenario.run(race.quorum(0)), Ok(vec![]));
    let race = scenario.race(ms(10), [(0, Ok("0")); 3]).max_attempts(0);
    assert_eq!(scenario.run(race.quorum(0)), Ok(vec![]));
    assert_eq!(scenario.starts(), []);
}

#[test]
fn zero_and_never_in_every_combination() {
    let durations = [Duration::ZERO, Duration::from_nanos(1), Duration::MAX];
    for delay in durations {
        for gap in durations {
            for timeout in durations {
                for deadline in durations {
                    let scenario = Scenario::new();
                    let race = scenario.race(delay, [(0, Ok("0")), (0, Ok("1"))]);
                    let race = race.min_gap(gap).max_attempts(1).max_in_flight(1);
                    let race = race.attempt_timeout(timeout).deadline(deadline);
                    assert_eq!(won(&scenario.run(race.first_ok())), (0, 0));

                    let race = scenario.race(delay, [(HANGS, Ok("0")), (0, Ok("1"))]);
                    let race = race.min_gap(gap);
                    let race = race.attempt_timeout(timeout).deadline(deadline);
                    let ended = scenario.clock.run(race.first_ok());
                    let never = [delay.max(gap), timeout, deadline] == [Duration::MAX; 3];
                    assert_eq!(
                        ended.is_err(),
                        never,
                        "{delay:?} {gap:?} {timeout:?} {deadline:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn empty_list_of_delays_starts_by_failures_only() {
    let scenario = Scenario::new();
    let race = scenario.race(Steps::new([]), [(30, Err("E0")), (20, Ok("1"))]);
    assert_eq!(won(&scenario.run(race.first_ok())), (1, 50));
    assert_eq!(scenario.starts(), [0, 30]);
}
