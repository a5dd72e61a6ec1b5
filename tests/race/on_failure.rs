//! What a failure starts, for each rule and the same candidates.

use race::{OnFailure, Steps};

use crate::{
    probe::ms,
    scenario::{Candidate, HANGS, Scenario, errors, won},
};

/// The second attempt fails while the first is still running.
const CANDIDATES: [Candidate; 4] = [
    (100, Ok("0")),
    (5, Err("E1")),
    (100, Ok("2")),
    (100, Ok("3")),
];

fn starts(rule: OnFailure) -> Vec<u64> {
    let scenario = Scenario::new();
    let race = scenario.race(ms(30), CANDIDATES).on_failure(rule);
    scenario.run(race.first_ok()).unwrap();
    scenario.starts()
}

#[test]
fn wait_starts_by_time_alone_as_in_deno_and_scylla() {
    assert_eq!(starts(OnFailure::Wait), [0, 30, 60, 90]);
}

#[test]
fn if_latest_starts_after_failure_of_latest_as_in_cpython_and_trio() {
    assert_eq!(starts(OnFailure::IfLatest), [0, 30, 35, 65]);
    let scenario = Scenario::new();
    let candidates = [(50, Err("E0")), (HANGS, Ok("")), (100, Ok("2"))];
    let race = scenario.race(ms(30), candidates);
    scenario.run(race.first_ok()).unwrap();
    assert_eq!(scenario.starts(), [0, 30, 60]); // the first is not the latest
}

#[test]
fn if_idle_starts_when_nothing_is_running_as_in_okhttp() {
    assert_eq!(starts(OnFailure::IfIdle), [0, 30, 60, 90]);
    let scenario = Scenario::new();
    let candidates = [(10, Err("E0")), (20, Err("E1")), (1, Ok("2"))];
    let race = scenario.race(ms(30), candidates);
    let first = race.on_failure(OnFailure::IfIdle).first_ok();
    scenario.run(first).unwrap();
    assert_eq!(scenario.starts(), [0, 10, 30]);
}

#[test]
fn any_starts_after_each_failure_as_in_grpc() {
    let scenario = Scenario::new();
    let candidates = [
        (50, Err("E0")),
        (HANGS, Ok("")),
        (HANGS, Ok("")),
        (9, Ok("3")),
    ];
    let race = scenario.race(ms(30), candidates);
    let first = race.on_failure(OnFailure::Any).first_ok();
    scenario.run(first).unwrap();
    assert_eq!(scenario.starts(), [0, 30, 50, 80]);
}

#[test]
fn without_delay_wait_ends_when_nothing_is_running() {
    for candidates in [1, 3] {
        let scenario = Scenario::new();
        let race = scenario.race(Steps::new([]), vec![(40, Err("E")); candidates]);
        let ended = scenario.run(race.on_failure(OnFailure::Wait).first_ok());
        assert_eq!((errors(ended), scenario.millis()), (vec!["E"], 40));
    }
}

#[test]
fn min_gap_limits_a_series_of_failures() {
    let scenario = Scenario::new();
    let refused = [(0, Err("refused")); 4];
    let race = scenario.race(ms(250), refused).min_gap(ms(10));
    assert_eq!(errors(scenario.run(race.first_ok())), ["refused"; 4]);
    assert_eq!(scenario.starts(), [0, 10, 20, 30]);
}

#[test]
fn failure_brings_next_start_forward_to_min_gap() {
    for rule in [OnFailure::IfLatest, OnFailure::IfIdle, OnFailure::Any] {
        let scenario = Scenario::new();
        let race = scenario.race(ms(2_000), [(5, Err("refused")), (0, Ok("1"))]);
        let race = race.min_gap(ms(10)).on_failure(rule);
        assert_eq!(won(&scenario.run(race.first_ok())), (1, 10), "{rule:?}");
        assert_eq!(scenario.starts(), [0, 10]);
    }
}

/// A timer that was armed for a later start must be armed again for the earlier one, also while
/// others are running.
#[test]
fn failure_brings_next_start_forward_while_another_is_running() {
    let scenario = Scenario::new();
    let candidates = [(HANGS, Ok("")), (5, Err("refused")), (0, Ok("2"))];
    let race = scenario.race(ms(2_000), candidates).min_gap(ms(10));
    assert_eq!(won(&scenario.run(race.first_ok())), (2, 2_010));
    assert_eq!(scenario.starts(), [0, 2_000, 2_010]);
}

#[test]
fn failures_with_an_attempt_timeout_armed_start_the_next_in_time() {
    let scenario = Scenario::new();
    let candidates = [(HANGS, Ok("")), (5, Err("refused")), (0, Ok("2"))];
    let race = scenario.race(ms(100), candidates).min_gap(ms(10));
    let race = race.attempt_timeout(ms(1_000)).deadline(ms(5_000));
    assert_eq!(won(&scenario.run(race.first_ok())), (2, 110));
}
