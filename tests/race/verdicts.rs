//! What the verdict on an output does.

use std::time::Duration;

use race::{Backoff, OnFailure, RaceError, Steps, Verdict, observe::EventKind};

use crate::{
    probe::ms,
    scenario::{Output, Scenario, errors, won},
};

fn accept_ok_else(verdict: Verdict) -> impl FnMut(&Output) -> Verdict {
    move |output| match output {
        Ok(_) => Verdict::Accept,
        Err(_) => verdict,
    }
}

#[test]
fn not_before_postpones_the_next_start() {
    let scenario = Scenario::new();
    let candidates = [(10, Err("busy")), (100, Ok("1"))];
    let race = scenario.race(ms(30), candidates);
    let first = race.first_by(accept_ok_else(Verdict::NotBefore(ms(500))));
    assert_eq!(scenario.run(first).unwrap().index, 1);
    assert_eq!(scenario.starts(), [0, 510]);
}

#[test]
fn not_before_postpones_delay_and_backoff() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(30), [(10, Err("busy")), (100, Ok("1"))]);
    let race = race.backoff(Backoff::new(ms(5)));
    let first = race.first_ok_by(|_| Verdict::NotBefore(ms(500)));
    assert_eq!(won(&scenario.run(first)), (1, 610));
    assert_eq!(scenario.starts(), [0, 510]);
}

#[test]
fn backoff_longer_than_not_before_applies() {
    let scenario = Scenario::new();
    let race = scenario.race(Backoff::new(ms(700)), [(10, Err("busy")), (100, Ok("1"))]);
    let first = race.first_ok_by(|_| Verdict::NotBefore(ms(500)));
    scenario.run(first).unwrap();
    assert_eq!(scenario.starts(), [0, 710]);
}

#[test]
fn no_more_starts_and_endless_pushback_let_running_attempts_win() {
    for verdict in [Verdict::NoMoreStarts, Verdict::NotBefore(Duration::MAX)] {
        let scenario = Scenario::new();
        let candidates = [(40, Err("busy")), (100, Ok("1")), (0, Ok("2"))];
        let race = scenario.race(ms(30), candidates);
        let won = scenario
            .run(race.first_by(accept_ok_else(verdict)))
            .unwrap();
        assert_eq!((won.index, scenario.millis()), (1, 130));
        assert_eq!(scenario.starts(), [0, 30]);
    }
}

#[test]
fn pushback_without_candidates_left_ends_the_race_at_once() {
    for on_failure in [OnFailure::IfLatest, OnFailure::Wait] {
        let scenario = Scenario::new();
        let candidates = [(100, Err("E0")), (0, Err("busy"))];
        let race = scenario.race(ms(500), candidates).on_failure(on_failure);
        let mut failed = 0;
        let first = race.first_ok_by(|_| {
            failed += 1;
            match failed {
                2 => Verdict::NotBefore(ms(60_000)),
                _ => Verdict::Retryable,
            }
        });
        assert_eq!(errors(scenario.run(first)), ["E0", "busy"]);
        let last = match on_failure {
            OnFailure::Wait => 500,
            _ => 100,
        };
        assert_eq!(scenario.millis(), last);
    }
}

#[test]
fn fatal_failure_cancels_the_others_and_is_the_last() {
    let scenario = Scenario::new();
    let candidates = [
        (90, Ok("0")),
        (5, Err("minor")),
        (20, Err("forbidden")),
        (90, Ok("3")),
    ];
    let race = scenario.race(ms(10), candidates);
    let ended = scenario.run(race.first_ok_by(|error| match *error {
        "forbidden" => Verdict::Fatal,
        _ => Verdict::Retryable,
    }));
    let error = ended.unwrap_err();
    assert_eq!(
        error.to_string(),
        "attempt #2 failed fatally: #1: minor; #2: forbidden"
    );
    assert!(matches!(error, RaceError::Fatal { .. }));
    let fatal = error.failed().last().unwrap();
    assert_eq!((fatal.index, fatal.elapsed), (2, ms(35)));
    assert_eq!(error.failed().len(), 2);
    assert_eq!(error.into_last_error(), Some("forbidden"));
    assert_eq!(scenario.all(EventKind::Cancelled), [(0, 35), (3, 35)]);
}

#[test]
fn accepted_error_counts_as_retryable() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(30), [(10, Err("E0")), (5, Ok("1"))]);
    let ended = scenario.run(race.first_ok_by(|_| Verdict::Accept));
    assert_eq!(won(&ended), (1, 15));
}

#[test]
fn not_before_does_not_shorten_min_gap_or_an_earlier_pushback() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(30), [(10, Err("busy")), (0, Ok("1"))]);
    let race = race.min_gap(ms(100));
    let first = race.first_ok_by(|_| Verdict::NotBefore(ms(20)));
    assert_eq!(won(&scenario.run(first)), (1, 100));

    let scenario = Scenario::new();
    let candidates = [(10, Err("500")), (20, Err("5")), (0, Ok("2"))];
    let race = scenario.race(Steps::new([ms(0), ms(30)]), candidates);
    let first = race.first_ok_by(|error| Verdict::NotBefore(ms(error.parse().unwrap())));
    assert_eq!(won(&scenario.run(first)), (2, 510));
}
