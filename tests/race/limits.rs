//! Timeouts of attempts, and deadlines of races.

use std::{future::Future, time::Duration};

use race::{Failure, Fixed, InlineRace, OnFailure, RaceError, VirtualClock, What, core::Race};

use crate::{
    probe::{Usage, ms},
    scenario::{HANGS, Scenario, won},
};

#[test]
fn an_attempt_that_takes_too_long_fails_and_starts_the_next() {
    let scenario = Scenario::new();
    let race = scenario.race(Fixed(ms(250)), [(HANGS, Ok("0")), (30, Ok("1"))]);
    let ended = scenario.run(race.first_ok().attempt_timeout(ms(100)));
    assert_eq!(won(&ended), (1, 130));
    assert_eq!(scenario.all(What::TimedOut), [(0, 100)]);
    assert_eq!(scenario.count(What::Cancelled), 0);
}

#[test]
fn each_timeout_counts_from_its_own_start() {
    let scenario = Scenario::new();
    let race = scenario.race(Fixed(ms(30)), [(HANGS, Ok("")); 3]);
    let ended = scenario.run(
        race.on_failure(OnFailure::Wait)
            .first_ok()
            .attempt_timeout(ms(100)),
    );
    let Err(RaceError::AllFailed(failed)) = ended else {
        panic!("{ended:?}");
    };
    assert_eq!(scenario.all(What::TimedOut), [(0, 100), (1, 130), (2, 160)]);
    for (place, failed) in failed.iter().enumerate() {
        assert_eq!(failed.failure, Failure::TimedOut(ms(100)));
        let elapsed = ms(100 + 30 * place as u64);
        assert_eq!((failed.place, failed.elapsed), (place, elapsed));
    }
    assert_eq!(
        RaceError::AllFailed(failed).to_string(),
        "all 3 attempts that were made failed: #0: timed out after 100ms; #1: timed out after 100ms; \
         #2: timed out after 100ms"
    );
}

#[test]
fn the_step_cancels_nobody() {
    let scenario = Scenario::new();
    let race = scenario.race(Fixed(ms(1)), [(500, Ok("0")), (HANGS, Ok("1"))]);
    assert_eq!(won(&scenario.run(race.first_ok())), (0, 500));
}

#[test]
fn the_deadline_ends_it_all_with_what_had_failed() {
    let scenario = Scenario::new();
    let candidates = [(HANGS, Ok("0")), (5, Err("E1")), (HANGS, Ok("2"))];
    let race = scenario.race(Fixed(ms(10)), candidates);
    let ended = scenario.run(race.first_ok().deadline(ms(80)));
    let Err(RaceError::Deadline { failed, .. }) = &ended else {
        panic!("{ended:?}");
    };
    assert_eq!((failed.len(), failed[0].place), (1, 1));
    assert_eq!(scenario.all(What::Cancelled), [(0, 80), (2, 80)]);
    assert_eq!(
        ended.unwrap_err().to_string(),
        "no attempt has won within the deadline: #1: E1"
    );
}

#[test]
fn the_deadline_counts_while_no_candidate_has_come() {
    let scenario = Scenario::new();
    let none_yet = futures::stream::pending::<u64>();
    let run = |_: &u64| std::future::ready(Ok::<(), ()>(()));
    let race = Race::from_stream_with(scenario.clock.timer(), ms(10), run, none_yet);
    let ended = scenario.run(race.first_ok().deadline(ms(70)));
    assert!(matches!(ended, Err(RaceError::Deadline { .. })));
    assert_eq!(scenario.millis(), 70);
}

#[test]
fn a_result_beats_its_timeout_and_the_deadline_of_the_same_instant() {
    let scenario = Scenario::new();
    let race = scenario.race(Fixed(ms(100)), [(100, Ok("0")), (0, Ok("1"))]);
    let first = race.first_ok().attempt_timeout(ms(100)).deadline(ms(100));
    assert_eq!(won(&scenario.run(first)), (0, 100));
    assert_eq!(scenario.starts(), [0]); // and the start that was due then
}

#[test]
fn a_deadline_beats_a_start_of_the_same_instant_and_a_timeout_beats_both() {
    let scenario = Scenario::new();
    let race = scenario.race(Fixed(ms(100)), [(HANGS, Ok("0")), (0, Ok("1"))]);
    let first = race.first_ok().attempt_timeout(ms(100)).deadline(ms(100));
    let ended = scenario.run(first);
    let Err(RaceError::Deadline { failed, .. }) = ended else {
        panic!("{ended:?}");
    };
    assert_eq!((failed.len(), scenario.starts()), (1, vec![0]));
}

#[test]
fn equal_results_go_to_the_lower_place() {
    let scenario = Scenario::new();
    let race = scenario.race(Fixed(ms(10)), [(30, Ok("0")), (20, Ok("1")), (10, Ok("2"))]);
    assert_eq!(won(&scenario.run(race.first_ok())), (0, 30));
}

#[test]
fn zero_leaves_an_attempt_its_first_poll() {
    let scenario = Scenario::new();
    let candidates = [(1, Ok("0")), (1, Ok("1")), (0, Ok("2"))];
    let race = scenario.race(Fixed(ms(10)), candidates);
    let ended = scenario.run(race.first_ok().attempt_timeout(Duration::ZERO));
    assert_eq!((won(&ended), scenario.millis()), ((2, 0), 0));
    let race = scenario.race(Fixed(ms(10)), [(0, Ok("0"))]);
    let ended = scenario.run(race.first_ok().deadline(Duration::ZERO));
    assert_eq!(won(&ended), (0, 0));
}

#[test]
fn a_race_in_place_has_limits_too() {
    let scenario = Scenario::new();
    let attempts = scenario.attempts([(HANGS, Ok("0")), (HANGS, Ok("1")), (30, Ok("2"))]);
    let timer = scenario.clock.timer();
    let race = InlineRace::<2, _, _>::of_with(timer, ms(10), attempts);
    let ended = scenario.run(race.first_ok().attempt_timeout(ms(100)));
    assert_eq!(won(&ended), (2, 130));
}

#[test]
fn what_is_far_from_its_limits_is_not_polled_for_them() {
    let scenario = Scenario::new();
    let usage = Usage::default();
    let attempts = scenario.attempts([(100, Ok("0")), (200, Ok("1"))]);
    let timer = usage.timer(&scenario.clock);
    let race = Race::of_with(timer, ms(30), attempts);
    let first = race.first_ok().attempt_timeout(ms(500)).deadline(ms(900));
    assert_eq!(won(&scenario.run(first)), (0, 100));
    // A clock for each start and the end; polls until 30, at 30, and for the first timeout from then on.
    assert_eq!(usage.counts(), (3, 3));
}

#[test]
fn a_hundred_timeouts_at_once_yield_and_end() {
    let scenario = Scenario::new();
    let race = scenario.race(Fixed(ms(0)), [(HANGS, Ok("")); 100]);
    let ended = scenario.run(race.first_ok().attempt_timeout(ms(7)));
    assert_eq!(ended.unwrap_err().failed().len(), 100);
    assert_eq!(scenario.millis(), 7);
}

#[test]
fn who_has_finished_has_no_timeout_any_more() {
    let scenario = Scenario::new();
    let usage = Usage::default();
    let attempts = scenario.attempts([(20, Err("E0")), (90, Ok("1"))]);
    let timer = usage.timer(&scenario.clock);
    let race = Race::of_with(timer, ms(10), attempts).on_failure(OnFailure::Wait);
    let ended = scenario.run(race.first_ok().attempt_timeout(ms(95)));
    // At 95 the first would have run out of time; nobody looks at the clock then.
    assert_eq!((won(&ended), usage.counts().1), ((1, 100), 4));
}

#[test]
fn a_deadline_ends_what_fails_at_once_for_ever() {
    for deadline in [0, 1, 50] {
        let clock = VirtualClock::new();
        let failing = std::iter::repeat_with(|| std::future::ready(Err::<(), ()>(())));
        let race = Race::of_with(clock.timer(), ms(0), failing);
        let mut first = Box::pin(race.first_ok().deadline(ms(deadline)));
        let ended = clock.run(std::future::poll_fn(|cx| {
            // So much time passes with each poll.
            clock.advance(ms(1));
            first.as_mut().poll(cx)
        }));
        assert!(matches!(ended, Ok(Err(RaceError::Deadline { .. }))));
        assert!(clock.elapsed() <= ms(deadline + 3));
    }
}

#[test]
fn who_runs_before_there_is_a_limit_is_limited_from_then_on() {
    let scenario = Scenario::new();
    let candidates = [(HANGS, Ok("0")), (HANGS, Ok("1")), (30, Ok("2"))];
    let mut race = scenario.race(Fixed(ms(10)), candidates).max_in_flight(2);
    let mut alarm = Box::pin(scenario.clock.sleep(ms(25)));
    scenario.run(async {
        let mut next = Box::pin(race.next());
        futures::future::select(&mut next, &mut alarm).await;
    });
    let ended = scenario.run(race.first_ok().attempt_timeout(ms(100)).deadline(ms(500)));
    assert_eq!(won(&ended), (2, 155));
    assert_eq!(scenario.all(What::TimedOut), [(0, 125), (1, 125)]);
}
