//! What a failure starts, and what has a say in it: each rule on the same candidates.

use std::time::Duration;

use futures::stream::FusedStream as _;
use race::{Backoff, Fixed, NoCandidates, OnFailure, RaceError, Steps, Suppressed, Verdict, What};

use crate::{
    probe::ms,
    scenario::{Candidate, HANGS, Scenario, errors, won},
};

/// The second fails while the first still runs.
const CANDIDATES: [Candidate; 4] = [
    (100, Ok("0")),
    (5, Err("E1")),
    (100, Ok("2")),
    (100, Ok("3")),
];

fn starts(rule: OnFailure) -> Vec<u64> {
    let scenario = Scenario::new();
    let race = scenario.race(Fixed(ms(30)), CANDIDATES).on_failure(rule);
    scenario.run(race.first_ok()).unwrap();
    scenario.starts()
}

#[test]
fn deno_and_scylla_start_by_time_alone() {
    assert_eq!(starts(OnFailure::Wait), [0, 30, 60, 90]);
}

#[test]
fn cpython_and_trio_start_when_the_latest_has_failed() {
    assert_eq!(starts(OnFailure::IfLatest), [0, 30, 35, 65]);
    let scenario = Scenario::new();
    let candidates = [(50, Err("E0")), (HANGS, Ok("")), (100, Ok("2"))];
    let race = scenario.race(Fixed(ms(30)), candidates);
    scenario.run(race.first_ok()).unwrap();
    assert_eq!(scenario.starts(), [0, 30, 60]); // the first is not the latest
}

#[test]
fn okhttp_starts_when_nothing_runs() {
    assert_eq!(starts(OnFailure::IfIdle), [0, 30, 60, 90]);
    let scenario = Scenario::new();
    let candidates = [(10, Err("E0")), (20, Err("E1")), (1, Ok("2"))];
    let race = scenario.race(Fixed(ms(30)), candidates);
    scenario
        .run(race.on_failure(OnFailure::IfIdle).first_ok())
        .unwrap();
    assert_eq!(scenario.starts(), [0, 10, 30]);
}

#[test]
fn grpc_starts_for_each_failure() {
    let scenario = Scenario::new();
    let candidates = [
        (50, Err("E0")),
        (HANGS, Ok("")),
        (HANGS, Ok("")),
        (9, Ok("3")),
    ];
    let race = scenario.race(Fixed(ms(30)), candidates);
    scenario
        .run(race.on_failure(OnFailure::Any).first_ok())
        .unwrap();
    assert_eq!(scenario.starts(), [0, 30, 50, 80]);
}

#[test]
fn a_list_of_steps_and_a_backoff() {
    for repeats in [false, true] {
        let scenario = Scenario::new();
        let candidates = [(100, Ok("")); 6];
        let ended = match repeats {
            true => scenario.run(
                scenario
                    .race(Steps::new([ms(0), ms(10), ms(25)]), candidates)
                    .first(),
            ),
            false => {
                let backoff = Backoff::new(ms(5)).factor(3).cap(ms(20));
                scenario.run(scenario.race(backoff, candidates).first())
            }
        };
        assert_eq!(ended.unwrap().place, 0);
        let expected = match repeats {
            true => [0, 0, 10, 35, 60, 85],
            false => [0, 5, 20, 40, 60, 80],
        };
        assert_eq!(scenario.starts(), expected);
    }
}

#[test]
fn a_gap_holds_against_a_row_of_refusals() {
    let scenario = Scenario::new();
    let refused = [(0, Err("refused")); 4];
    let race = scenario.race(Fixed(ms(250)), refused).min_gap(ms(10));
    assert_eq!(errors(scenario.run(race.first_ok())), ["refused"; 4]);
    assert_eq!(scenario.starts(), [0, 10, 20, 30]);
}

#[test]
fn the_gate_is_told_how_the_race_stands() {
    let scenario = Scenario::new();
    let mut asked = Vec::new();
    let candidates = [
        (50, Err("E0")),
        (5, Err("E1")),
        (100, Ok("2")),
        (9, Ok("3")),
    ];
    let race = scenario.race(Fixed(ms(10)), candidates).gate(|standing| {
        let elapsed = standing.elapsed().as_millis();
        asked.push((standing.place, standing.running, standing.failed, elapsed));
        standing.place < 3
    });
    assert_eq!(won(&scenario.run(race.first_ok())), (2, 115));
    assert_eq!(asked, [(1, 1, 0, 10), (2, 1, 1, 15), (3, 2, 1, 25)]);
    let suppressed = What::Suppressed(Suppressed::Gate);
    assert_eq!(scenario.all(suppressed), [(3, 25)]);
}

#[test]
fn a_gate_that_stopped_is_asked_again_after_a_failure() {
    let scenario = Scenario::new();
    let candidates = [(50, Err("E0")), (5, Ok("1"))];
    let race = scenario.race(Fixed(ms(10)), candidates);
    let race = race.gate(|standing| standing.failed > 0);
    assert_eq!(won(&scenario.run(race.first_ok())), (1, 55));
}

#[test]
fn a_gate_that_stays_shut_ends_the_race_when_nothing_runs() {
    for rule in [
        OnFailure::Wait,
        OnFailure::IfLatest,
        OnFailure::IfIdle,
        OnFailure::Any,
    ] {
        let scenario = Scenario::new();
        let race = scenario.race(Fixed(ms(10)), [(50, Err("E0")), (0, Ok("1"))]);
        let ended = scenario.run(race.gate(|_| false).on_failure(rule).first_ok());
        assert_eq!((errors(ended), scenario.millis()), (vec!["E0"], 50));
    }
}

#[test]
fn a_stream_that_may_start_no_more_ends() {
    let scenario = Scenario::new();
    let race = scenario.race(Fixed(ms(10)), [(50, Ok("0")), (0, Ok("1"))]);
    let mut race = race.gate(|_| false);
    assert_eq!(scenario.run(race.next()), Some((0, Ok("0"))));
    assert_eq!(scenario.run(race.next()), None);
    assert!(race.is_terminated());
}

#[test]
fn no_more_start_than_may_and_no_more_are_drawn() {
    let scenario = Scenario::new();
    let mut drawn = 0;
    let candidates = std::iter::repeat_with(|| {
        drawn += 1;
        (5, Err("down"))
    });
    let race = scenario.race(Fixed(ms(1)), candidates).max_attempts(3);
    assert_eq!(errors(scenario.run(race.first_ok())).len(), 3);
    assert_eq!(drawn, 3);
}

#[test]
fn a_pushback_is_obeyed_and_a_negative_one_starts_no_more() {
    let scenario = Scenario::new();
    let candidates = [(10, Err("busy")), (100, Ok("1"))];
    let race = scenario.race(Fixed(ms(30)), candidates);
    let first = race.first_by(|output| match output {
        Ok(_) => Verdict::Accept,
        Err(_) => Verdict::NotBefore(ms(500)),
    });
    assert_eq!(scenario.run(first).unwrap().place, 1);
    assert_eq!(scenario.starts(), [0, 510]);

    for verdict in [Verdict::NoMoreStarts, Verdict::NotBefore(Duration::MAX)] {
        let scenario = Scenario::new();
        let candidates = [(40, Err("busy")), (100, Ok("1")), (0, Ok("2"))];
        let race = scenario.race(Fixed(ms(30)), candidates);
        let first = race.first_by(|output| match output {
            Ok(_) => Verdict::Accept,
            Err(_) => verdict,
        });
        let won = scenario.run(first).unwrap();
        assert_eq!((won.place, scenario.millis()), (1, 130));
        assert_eq!(scenario.starts(), [0, 30]);
    }
}

#[test]
fn a_fatal_failure_cancels_all_and_comes_back() {
    let scenario = Scenario::new();
    let candidates = [
        (90, Ok("0")),
        (5, Err("minor")),
        (20, Err("forbidden")),
        (90, Ok("3")),
    ];
    let race = scenario.race(Fixed(ms(10)), candidates);
    let ended = scenario.run(race.first_ok_by(|error| match *error {
        "forbidden" => Verdict::Fatal,
        _ => Verdict::Retryable,
    }));
    let message = ended.as_ref().unwrap_err().to_string();
    assert_eq!(message, "attempt #2 failed, which is fatal: forbidden");
    let Err(RaceError::Fatal { fatal, failed, .. }) = ended else {
        panic!("{ended:?}");
    };
    assert_eq!((fatal.place, fatal.elapsed), (2, ms(35)));
    assert_eq!(fatal.failure.into_error(), Some("forbidden"));
    assert_eq!(failed.len(), 1);
    assert_eq!(scenario.all(What::Cancelled), [(0, 35), (3, 35)]);
}

#[test]
fn nothing_to_race_is_an_answer_at_every_end() {
    let scenario = Scenario::new();
    let race = || scenario.race(Fixed(ms(10)), []);
    assert_eq!(scenario.run(race().first()), Err(NoCandidates));
    assert_eq!(
        scenario.run(race().first_ok()),
        Err(RaceError::NoCandidates)
    );
    let first_by = race().first_by(|_| Verdict::Accept);
    assert_eq!(
        scenario.run(first_by.deadline(ms(0))),
        Err(RaceError::NoCandidates)
    );
    let quorum = scenario.run(race().quorum(2));
    assert_eq!(quorum, Err(race::QuorumError::NoCandidates));
    assert_eq!(scenario.run(race().quorum(0)), Ok(vec![]));
    let (answer, mut losers) = scenario.run(race().first_ok_then_drain());
    assert_eq!(answer, Err(RaceError::NoCandidates));
    assert_eq!(scenario.run(losers.next()), None);
    assert_eq!(scenario.millis(), 0);
}

#[test]
fn zero_and_never_everywhere() {
    let durations = [Duration::ZERO, Duration::from_nanos(1), Duration::MAX];
    for step in durations {
        for gap in durations {
            for timeout in durations {
                for deadline in durations {
                    let scenario = Scenario::new();
                    let race = scenario.race(Fixed(step), [(0, Ok("0")), (0, Ok("1"))]);
                    let race = race.min_gap(gap).max_attempts(0).max_in_flight(0);
                    let first = race.first_ok().attempt_timeout(timeout).deadline(deadline);
                    assert_eq!(won(&scenario.run(first)), (0, 0));
                    let race = scenario.race(Fixed(step), [(HANGS, Ok("0")), (0, Ok("1"))]);
                    let first = race.min_gap(gap).first_ok();
                    let ended = scenario
                        .clock
                        .run(first.attempt_timeout(timeout).deadline(deadline));
                    let never = [step.max(gap), timeout, deadline] == [Duration::MAX; 3];
                    assert_eq!(
                        ended.is_err(),
                        never,
                        "{step:?} {gap:?} {timeout:?} {deadline:?}"
                    );
                }
            }
        }
    }
}
