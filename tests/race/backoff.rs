//! Pauses after failures, and delays that grow.

use race::{
    Backoff, GrowingDelay, OnFailure,
    observe::{Cause, EventKind},
};

use crate::{
    probe::ms,
    scenario::{HANGS, Scenario, errors, won},
};

#[test]
fn pauses_count_from_each_failure() {
    let scenario = Scenario::new();
    let race = scenario.race(Backoff::new(ms(100)), [(5, Err("busy")); 4]);
    assert_eq!(errors(scenario.run(race.first_ok())), ["busy"; 4]);
    assert_eq!(scenario.starts(), [0, 105, 310, 715]);
    let failed = [(0, 5), (1, 110), (2, 315), (3, 720)];
    assert_eq!(scenario.all(EventKind::Failed), failed);
}

#[test]
fn pauses_are_limited_by_the_cap() {
    let scenario = Scenario::new();
    let backoff = Backoff::new(ms(100)).factor(3).cap(ms(250));
    let race = scenario.race(backoff, [(0, Err("busy")); 4]);
    scenario.run(race.first_ok()).unwrap_err();
    assert_eq!(scenario.starts(), [0, 100, 350, 600]);
}

#[test]
fn backoff_as_the_policy_starts_nothing_by_time() {
    let scenario = Scenario::new();
    let race = scenario.race(Backoff::new(ms(1)), [(10_000, Ok("0")), (0, Ok("1"))]);
    assert_eq!(won(&scenario.run(race.first_ok())), (0, 10_000));
    assert_eq!(scenario.starts(), [0]);
}

#[test]
fn race_waits_for_a_pause_with_nothing_running() {
    let scenario = Scenario::new();
    let race = scenario.race(Backoff::new(ms(60_000)), [(0, Err("E0")), (0, Ok("1"))]);
    assert_eq!(won(&scenario.run(race.first_ok())), (1, 60_000));
    assert_eq!(scenario.causes()[1], (Cause::Failure, 60_000));
}

#[test]
fn jitter_is_between_half_and_whole_and_repeats_with_its_seed() {
    let gaps = |seed| {
        let scenario = Scenario::new();
        let backoff = Backoff::new(ms(100)).factor(1).jitter_seeded(seed);
        let race = scenario.race(backoff, [(0, Err("busy")); 20]);
        scenario.run(race.first_ok()).unwrap_err();
        let starts = scenario.starts();
        let gaps = starts.windows(2).map(|pair| pair[1] - pair[0]);
        gaps.collect::<Vec<_>>()
    };
    let first = gaps(1);
    assert!(
        first.iter().all(|gap| (49..=100).contains(gap)),
        "{first:?}"
    );
    assert!(first.iter().any(|gap| *gap != first[0]));
    assert_eq!(first, gaps(1));
    assert_ne!(first, gaps(2));
}

#[test]
fn start_is_at_the_earlier_of_delay_and_pause() {
    for (delay, pause, start) in [(500, 20, 25), (50, 200, 50)] {
        let scenario = Scenario::new();
        let race = scenario.race(ms(delay), [(5, Err("refused")), (0, Ok("1"))]);
        let race = race.backoff(Backoff::new(ms(pause)));
        assert_eq!(won(&scenario.run(race.first_ok())), (1, start));
    }
}

#[test]
fn any_failure_is_followed_by_a_pause() {
    let scenario = Scenario::new();
    let candidates = [(50, Err("E0")), (HANGS, Ok("")), (9, Ok("2"))];
    let race = scenario
        .race(ms(30), candidates)
        .backoff(Backoff::new(ms(4)));
    let first = race.on_failure(OnFailure::Any).first_ok();
    assert_eq!(won(&scenario.run(first)), (2, 63));
    assert_eq!(scenario.starts(), [0, 30, 54]);
}

/// The second failure, at 12, comes before the pause of the first has ended.
#[test]
fn two_failures_in_one_pause_start_one_attempt() {
    let scenario = Scenario::new();
    let candidates = [
        (12, Err("E0")),
        (1, Err("E1")),
        (HANGS, Ok("")),
        (1, Ok("3")),
    ];
    let race = scenario
        .race(ms(10), candidates)
        .backoff(Backoff::new(ms(5)));
    let first = race.on_failure(OnFailure::Any).first_ok();
    assert_eq!(won(&scenario.run(first)), (3, 27));
    assert_eq!(scenario.starts(), [0, 10, 16, 26]);
}

#[test]
fn min_gap_and_pause_apply_both() {
    for (gap, pause, start) in [(40, 20, 40), (10, 20, 25)] {
        let scenario = Scenario::new();
        let race = scenario.race(Backoff::new(ms(pause)), [(5, Err("E0")), (0, Ok("1"))]);
        let race = race.min_gap(ms(gap));
        assert_eq!(won(&scenario.run(race.first_ok())), (1, start));
    }
}

#[test]
fn growing_delay_grows_after_starts_by_time() {
    let scenario = Scenario::new();
    let delay = GrowingDelay::new(ms(5)).factor(3).cap(ms(20));
    let race = scenario.race(delay, [(100, Ok("")); 6]);
    assert_eq!(scenario.run(race.first()).unwrap().index, 0);
    assert_eq!(scenario.starts(), [0, 5, 20, 40, 60, 80]);
}

#[test]
fn growing_delay_grows_by_failures_only_if_asked() {
    let growing = GrowingDelay::new(ms(10));
    for (delay, starts) in [
        (growing.clone(), [0, 10, 15, 35, 75]),
        (growing.grow_on_failure(), [0, 10, 15, 55, 135]),
    ] {
        let scenario = Scenario::new();
        let candidates = [
            (HANGS, Ok("")),
            (5, Err("E1")),
            (HANGS, Ok("")),
            (HANGS, Ok("")),
            (0, Ok("4")),
        ];
        let race = scenario.race(delay, candidates);
        assert_eq!(won(&scenario.run(race.first_ok())).0, 4);
        assert_eq!(scenario.starts(), starts);
    }
}

#[test]
fn first_failure_does_not_grow_the_delay() {
    let scenario = Scenario::new();
    let candidates = [(2, Err("E0")), (HANGS, Ok("")), (0, Ok("2"))];
    let race = scenario.race(GrowingDelay::new(ms(10)), candidates);
    assert_eq!(won(&scenario.run(race.first_ok())), (2, 12));
}
