//! Attempt timeouts and deadlines.

use std::{
    future::{Future, pending},
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use race::{
    Failure, InlineRace, OnFailure, RaceError, core::Race, observe::EventKind, test::VirtualClock,
};

use crate::{
    probe::{Usage, ms, yield_now},
    scenario::{HANGS, Scenario, won},
};

#[test]
fn timed_out_attempt_fails_and_starts_the_next() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(250), [(HANGS, Ok("0")), (30, Ok("1"))]);
    let ended = scenario.run(race.attempt_timeout(ms(100)).first_ok());
    assert_eq!(won(&ended), (1, 130));
    assert_eq!(scenario.all(EventKind::TimedOut), [(0, 100)]);
    assert_eq!(scenario.count(EventKind::Cancelled), 0);
}

#[test]
fn attempt_timeout_counts_from_the_start_of_each_attempt() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(30), [(HANGS, Ok("")); 3]);
    let ended = scenario.run(
        race.on_failure(OnFailure::Wait)
            .attempt_timeout(ms(100))
            .first_ok(),
    );
    let error = ended.unwrap_err();
    assert_eq!(
        scenario.all(EventKind::TimedOut),
        [(0, 100), (1, 130), (2, 160)]
    );
    for (index, failed) in error.failed().iter().enumerate() {
        assert_eq!(failed.failure, Failure::TimedOut(ms(100)));
        let elapsed = ms(100 + 30 * index as u64);
        assert_eq!((failed.index, failed.elapsed), (index, elapsed));
    }
    assert_eq!(
        error.to_string(),
        "all 3 attempts failed: #0: timed out after 100ms; #1: timed out after 100ms; \
         #2: timed out after 100ms"
    );
}

#[test]
fn delay_cancels_nothing() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(1), [(500, Ok("0")), (HANGS, Ok("1"))]);
    assert_eq!(won(&scenario.run(race.first_ok())), (0, 500));
}

#[test]
fn deadline_cancels_all_and_returns_the_failures() {
    let scenario = Scenario::new();
    let candidates = [(HANGS, Ok("0")), (5, Err("E1")), (HANGS, Ok("2"))];
    let race = scenario.race(ms(10), candidates);
    let ended = scenario.run(race.deadline(ms(80)).first_ok());
    let Err(RaceError::Deadline { failed, .. }) = &ended else {
        panic!("{ended:?}");
    };
    assert_eq!((failed.len(), failed[0].index), (1, 1));
    assert_eq!(scenario.all(EventKind::Cancelled), [(0, 80), (2, 80)]);
    assert_eq!(
        ended.unwrap_err().to_string(),
        "no attempt won before the deadline: #1: E1"
    );
}

#[test]
fn deadline_counts_before_the_first_candidate() {
    let scenario = Scenario::new();
    let none_yet = futures::stream::pending::<u64>();
    let run = |_: &u64| std::future::ready(Ok::<(), ()>(()));
    let race = Race::at(scenario.clock.timer()).from_stream(ms(10), run, none_yet);
    let ended = scenario.run(race.deadline(ms(70)).first_ok());
    assert!(matches!(ended, Err(RaceError::Deadline { .. })));
    assert_eq!(scenario.millis(), 70);
}

#[test]
fn result_wins_over_timeout_and_deadline_of_the_same_instant() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(100), [(100, Ok("0")), (0, Ok("1"))]);
    let first = race.attempt_timeout(ms(100)).deadline(ms(100)).first_ok();
    assert_eq!(won(&scenario.run(first)), (0, 100));
    assert_eq!(scenario.starts(), [0]); // and the start that was due then
}

#[test]
fn timeout_precedes_deadline_and_deadline_precedes_start_of_the_same_instant() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(100), [(HANGS, Ok("0")), (0, Ok("1"))]);
    let first = race.attempt_timeout(ms(100)).deadline(ms(100)).first_ok();
    let ended = scenario.run(first);
    let Err(RaceError::Deadline { failed, .. }) = ended else {
        panic!("{ended:?}");
    };
    assert_eq!((failed.len(), scenario.starts()), (1, vec![0]));
}

#[test]
fn results_of_the_same_instant_go_to_the_lower_index() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(10), [(30, Ok("0")), (20, Ok("1")), (10, Ok("2"))]);
    assert_eq!(won(&scenario.run(race.first_ok())), (0, 30));
}

#[test]
fn timeout_and_deadline_of_zero_allow_the_first_poll() {
    let scenario = Scenario::new();
    let candidates = [(1, Ok("0")), (1, Ok("1")), (0, Ok("2"))];
    let race = scenario.race(ms(10), candidates);
    let ended = scenario.run(race.attempt_timeout(Duration::ZERO).first_ok());
    assert_eq!((won(&ended), scenario.millis()), ((2, 0), 0));
    let race = scenario.race(ms(10), [(0, Ok("0"))]);
    let ended = scenario.run(race.deadline(Duration::ZERO).first_ok());
    assert_eq!(won(&ended), (0, 0));
}

#[test]
fn inline_race_has_attempt_timeouts() {
    let scenario = Scenario::new();
    let attempts = scenario.attempts([(HANGS, Ok("0")), (HANGS, Ok("1")), (30, Ok("2"))]);
    let timer = scenario.clock.timer();
    let race = InlineRace::<2, _, _>::at(timer).of(ms(10), attempts);
    let ended = scenario.run(race.attempt_timeout(ms(100)).first_ok());
    assert_eq!(won(&ended), (2, 130));
}

#[test]
fn timer_is_not_polled_for_distant_timeouts() {
    let scenario = Scenario::new();
    let usage = Usage::default();
    let attempts = scenario.attempts([(100, Ok("0")), (200, Ok("1"))]);
    let timer = usage.timer(&scenario.clock);
    let race = Race::at(timer).of(ms(30), attempts);
    let first = race.attempt_timeout(ms(500)).deadline(ms(900)).first_ok();
    assert_eq!(won(&scenario.run(first)), (0, 100));
    // The clock is read at each start and at the end. The timer is polled until 30, at 30, and then
    // for the first timeout.
    assert_eq!(usage.counts(), (3, 3));
}

#[test]
fn hundred_timeouts_at_once_are_all_failures() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(0), [(HANGS, Ok("")); 100]);
    let ended = scenario.run(race.attempt_timeout(ms(7)).first_ok());
    assert_eq!(ended.unwrap_err().failed().len(), 100);
    assert_eq!(scenario.millis(), 7);
}

#[test]
fn finished_attempt_has_no_timeout() {
    let scenario = Scenario::new();
    let usage = Usage::default();
    let attempts = scenario.attempts([(20, Err("E0")), (90, Ok("1"))]);
    let timer = usage.timer(&scenario.clock);
    let race = Race::at(timer)
        .of(ms(10), attempts)
        .on_failure(OnFailure::Wait);
    let ended = scenario.run(race.attempt_timeout(ms(95)).first_ok());
    // The timeout of the first would expire at 95. The timer is not armed for it.
    assert_eq!((won(&ended), usage.counts().1), ((1, 100), 4));
}

#[test]
fn deadline_ends_endless_immediate_failures() {
    for deadline in [0, 1, 50] {
        let clock = VirtualClock::new();
        let failing = std::iter::repeat_with(|| std::future::ready(Err::<(), ()>(())));
        let race = Race::at(clock.timer()).of(ms(0), failing);
        let mut first = Box::pin(race.deadline(ms(deadline)).first_ok());
        let ended = clock.run(std::future::poll_fn(|cx| {
            // Each poll takes this long.
            clock.advance(ms(1));
            first.as_mut().poll(cx)
        }));
        assert!(matches!(ended, Ok(Err(RaceError::Deadline { .. }))));
        assert!(clock.elapsed() <= ms(deadline + 3));
    }
}

#[test]
fn attempt_timeout_applies_to_attempts_that_start_after_it_is_set() {
    let scenario = Scenario::new();
    let candidates = [(HANGS, Ok("0")), (HANGS, Err("")), (HANGS, Ok("2"))];
    let mut race = scenario.race(ms(10), candidates);
    let mut alarm = Box::pin(scenario.clock.sleep(ms(15)));
    scenario.run(async {
        let mut next = Box::pin(race.next());
        futures::future::select(&mut next, &mut alarm).await;
    });
    let race = race.attempt_timeout(ms(100)).deadline(ms(500));
    let error = scenario.run(race.first_ok()).unwrap_err();
    assert!(matches!(error, RaceError::Deadline { .. }));
    assert_eq!(scenario.all(EventKind::TimedOut), [(2, 120)]);
}

/// The poll that starts the second attempt also completes the first.
#[test]
fn second_attempt_has_its_timeout_if_its_start_completes_the_first() {
    let scenario = Scenario::new();
    let run = |&index: &usize| async move {
        match index {
            0 => yield_now().await,
            _ => pending().await,
        }
        Err::<(), _>("refused")
    };
    let race = Race::at(scenario.clock.timer()).new(ms(0), run, 0..2);
    let error = scenario
        .run(race.attempt_timeout(ms(50)).first_ok())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "all 2 attempts failed: #0: refused; #1: timed out after 50ms"
    );
    assert_eq!(scenario.millis(), 50);
}

#[test]
fn second_attempt_has_its_timeout_if_its_start_makes_the_first_panic() {
    let scenario = Scenario::new();
    let run = |&index: &usize| async move {
        if index == 0 {
            yield_now().await;
            panic!("on purpose");
        }
        pending::<Result<(), &str>>().await
    };
    let race = Race::at(scenario.clock.timer()).new(ms(0), run, 0..2);
    let mut first = race.attempt_timeout(ms(50)).first_ok();
    let panicked = catch_unwind(AssertUnwindSafe(|| scenario.run(&mut first)));
    assert!(panicked.is_err());
    let error = scenario.run(first).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the only attempt failed: #1: timed out after 50ms"
    );
    assert_eq!(scenario.millis(), 50);
}

#[test]
fn attempt_timeout_counts_from_a_late_start() {
    let scenario = Scenario::new();
    let race = scenario.race(ms(10), [(HANGS, Ok("")); 2]);
    let mut first = race.attempt_timeout(ms(50)).first_ok();
    scenario.run(async {
        assert!(futures::poll!(&mut first).is_pending());
        scenario.clock.advance(ms(30)); // the second is due at 10 and starts at 30
        first.await.unwrap_err();
    });
    assert_eq!(scenario.all(EventKind::TimedOut), [(0, 50), (1, 80)]);
}

#[test]
fn deadline_that_is_set_between_polls_is_armed_at_once() {
    let scenario = Scenario::new();
    let mut race = scenario.race(ms(1_000), [(HANGS, Ok("")); 2]);
    scenario.run(async {
        assert!(futures::poll!(race.next()).is_pending());
    });
    scenario.clock.advance(ms(10));
    assert_eq!(scenario.run(race.deadline(ms(50)).first()), None);
    assert_eq!(scenario.millis(), 60);
}
