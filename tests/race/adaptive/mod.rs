//! A learnt delay, in the test cases of tower, failsafe-go and Finagle.

use std::{cell::Cell, sync::Arc, time::Duration};

use race::{
    Adaptive, OnFailure, Verdict,
    core::Race,
    observe::{Event, EventKind},
    test::VirtualClock,
};

use crate::probe::ms;

mod first_requests;
mod load;
mod percentile;
mod shapes;

type Outcome = Result<&'static str, &'static str>;

/// The answer of a race, its time, and the number of attempts.
type Ended = (Outcome, Duration, usize);

/// Races attempts of given latencies in milliseconds by Finagle's rule: a failure of the only
/// attempt is the answer; after a failure of one of two, the other decides.
fn race(clock: &VirtualClock, adaptive: &Adaptive, attempts: &[(u64, Outcome)]) -> Ended {
    let (began, started) = (clock.elapsed(), Cell::new(0));
    let run = |&(millis, outcome): &(u64, Outcome)| {
        started.set(started.get() + 1);
        let sleep = clock.sleep(ms(millis));
        async move {
            sleep.await;
            outcome
        }
    };
    let race = Race::at(clock.timer())
        .new(adaptive, run, attempts.iter().copied())
        .on_failure(OnFailure::Wait);
    let outcome = match clock.run(race.first_by(|outcome: &Outcome| match outcome {
        Ok(_) => Verdict::Accept,
        Err(_) if started.get() == 1 => Verdict::Fatal,
        Err(_) => Verdict::NoMoreStarts,
    })) {
        Ok(Ok(won)) => won.output,
        _ => Err("failed"),
    };
    (outcome, clock.elapsed() - began, started.get())
}

fn warm(clock: &VirtualClock, adaptive: &Adaptive, times: usize, millis: u64) {
    for _ in 0..times {
        let alone = race(clock, adaptive, &[(millis, Ok("alone"))]);
        assert_eq!(alone, (Ok("alone"), ms(millis), 1));
    }
}

/// Warmed up as in tower's tests.
fn tower(clock: &VirtualClock) -> Adaptive {
    let adaptive = Adaptive::quantile(0.9).warm_up(10);
    warm(clock, &adaptive, 8, 1);
    warm(clock, &adaptive, 2, 10);
    adaptive
}

#[test]
fn tower_h1_hedge_starts_by_11_ms_and_original_wins() {
    let clock = VirtualClock::new();
    let adaptive = tower(&clock);
    let delay = adaptive.delay().unwrap();
    assert!(ms(10) <= delay && delay < ms(11));
    let ended = race(&clock, &adaptive, &[(15, Ok("orig")), (15, Ok("hedge"))]);
    assert_eq!(ended, (Ok("orig"), ms(15), 2));
}

#[test]
fn tower_h2_hedge_wins() {
    let clock = VirtualClock::new();
    let adaptive = tower(&clock);
    let delay = adaptive.delay().unwrap();
    let ended = race(&clock, &adaptive, &[(99, Ok("orig")), (3, Ok("hedge"))]);
    assert_eq!(ended, (Ok("hedge"), delay + ms(3), 2));
}

#[test]
fn tower_h3_original_that_wins_before_the_delay_is_not_hedged() {
    let clock = VirtualClock::new();
    let adaptive = tower(&clock);
    let ended = race(&clock, &adaptive, &[(10, Ok("orig")), (1, Ok("hedge"))]);
    assert_eq!(ended, (Ok("orig"), ms(10), 1));
}

#[test]
fn failsafe_f6_nothing_is_hedged_during_warm_up() {
    let clock = VirtualClock::new();
    let adaptive = Adaptive::quantile(0.95).warm_up(20);
    for execution in 0..20 {
        let attempts = [(5 + 200 * (execution / 19), Ok("orig")), (1, Ok("hedge"))];
        let (outcome, _, started) = race(&clock, &adaptive, &attempts);
        assert_eq!((outcome, started), (Ok("orig"), 1));
    }
    assert_eq!(adaptive.samples(), 20);
}

#[test]
fn failsafe_f7_request_of_200_ms_after_25_of_5_ms_is_hedged_once() {
    let clock = VirtualClock::new();
    let adaptive = Adaptive::quantile(0.95).warm_up(20);
    let fast = [(5, Ok("orig")), (5, Ok("hedge")), (5, Ok("second"))];
    for _ in 0..25 {
        assert_eq!(race(&clock, &adaptive, &fast).2, 1);
    }
    let (delay, slow) = (
        adaptive.delay().unwrap(),
        [(200, Ok("orig")), fast[1], fast[2]],
    );
    let ended = race(&clock, &adaptive, &slow);
    assert_eq!(ended, (Ok("hedge"), delay + ms(5), 2));
}

/// Warmed up as in Finagle's tests: the delay is 2 s.
fn finagle(clock: &VirtualClock) -> (Adaptive, Duration) {
    let adaptive = Adaptive::extra_load(1.0).memory(1_000).without_budget();
    warm(clock, &adaptive, 100, 2_000);
    let delay = adaptive.delay().unwrap();
    assert!(ms(2_000) <= delay && delay <= ms(2_032));
    (adaptive, delay)
}

#[test]
fn finagle_n1_fast_original_is_recorded_and_has_no_backup() {
    let clock = VirtualClock::new();
    let (adaptive, _) = finagle(&clock);
    let ended = race(&clock, &adaptive, &[(1_000, Ok("orig")), (1, Ok("backup"))]);
    assert_eq!(ended, (Ok("orig"), ms(1_000), 1));
    assert_eq!(adaptive.samples(), 101);
}

#[test]
fn finagle_n2_failed_original_is_not_recorded_and_returned_at_once() {
    let clock = VirtualClock::new();
    let (adaptive, _) = finagle(&clock);
    let ended = race(
        &clock,
        &adaptive,
        &[(1_000, Err("orig")), (1, Ok("backup"))],
    );
    assert_eq!(ended, (Err("failed"), ms(1_000), 1));
    assert_eq!(adaptive.samples(), 100);
}

#[test]
fn finagle_n3_winning_backup_and_cancelled_original_are_recorded() {
    let clock = VirtualClock::new();
    let (adaptive, delay) = finagle(&clock);
    let attempts = [(60_000, Ok("orig")), (1_000, Ok("backup"))];
    let ended = race(&clock, &adaptive, &attempts);
    assert_eq!(ended, (Ok("backup"), delay + ms(1_000), 2));
    assert_eq!(adaptive.samples(), 102);
    // The cancelled sample of 3 s is a hundredth of all. With a few more, the delay is the longest
    // time.
    for _ in 0..3 {
        assert_eq!(race(&clock, &adaptive, &attempts).0, Ok("backup"));
    }
    let learnt = adaptive.delay().unwrap();
    assert!(ms(3_000) <= learnt && learnt <= ms(6_100), "{learnt:?}");
}

#[test]
fn finagle_n4_original_that_is_not_cancelled_is_recorded_when_it_finishes() {
    let clock = VirtualClock::new();
    let (adaptive, delay) = finagle(&clock);
    let attempts = [(9_000, "orig"), (1_000, "backup")].map(|(millis, name)| {
        let sleep = clock.sleep(ms(millis));
        async move {
            sleep.await;
            Outcome::Ok(name)
        }
    });
    let seen = Cell::new(None);
    let race = Race::at(clock.timer())
        .of(adaptive.timed_by(clock.clone()), attempts)
        .on_event(|event: Event| seen.set(Some(event)));
    let (answer, mut losers) = clock.run(race.first_ok().keep_race()).unwrap();
    assert_eq!(answer.unwrap().elapsed, delay + ms(1_000));
    assert_eq!(adaptive.samples(), 101);
    let late = clock.run(losers.next()).unwrap();
    assert_eq!(late, Some((0, Ok("orig"))));
    let event = seen.get().unwrap();
    assert_eq!((event.kind, event.ran), (EventKind::Finished, ms(9_000)));
    drop(losers);
    assert_eq!(adaptive.samples(), 102);
}

#[test]
fn finagle_n5_late_winning_original_and_cancelled_backup_are_recorded() {
    let clock = VirtualClock::new();
    let (adaptive, _) = finagle(&clock);
    let ended = race(
        &clock,
        &adaptive,
        &[(3_000, Ok("orig")), (60_000, Ok("backup"))],
    );
    assert_eq!(ended, (Ok("orig"), ms(3_000), 2));
    assert_eq!(adaptive.samples(), 102);
}

#[test]
fn finagle_n6_and_n7_failed_attempts_are_not_recorded() {
    let clock = VirtualClock::new();
    let (adaptive, delay) = finagle(&clock);
    let ended = race(
        &clock,
        &adaptive,
        &[(3_000, Err("orig")), (2_000, Ok("backup"))],
    );
    assert_eq!(ended, (Ok("backup"), delay + ms(2_000), 2));
    assert_eq!(adaptive.samples(), 101);
    let ended = race(
        &clock,
        &adaptive,
        &[(5_000, Ok("orig")), (1_000, Err("backup"))],
    );
    assert_eq!(ended, (Ok("orig"), ms(5_000), 2));
    assert_eq!(adaptive.samples(), 102);
}

#[test]
fn failure_starts_next_attempt_during_warm_up() {
    let clock = VirtualClock::new();
    let adaptive = Arc::new(Adaptive::quantile(0.9));
    let attempts = [(7, Err("refused")), (5, Ok("fine"))].map(|(millis, outcome)| {
        let sleep = clock.sleep(ms(millis));
        async move {
            sleep.await;
            outcome as Outcome
        }
    });
    let race = Race::at(clock.timer()).of(adaptive.clone(), attempts);
    let won = clock.run(race.first_ok()).unwrap().unwrap();
    assert_eq!((won.output, won.elapsed), ("fine", ms(12)));
    assert_eq!((adaptive.samples(), adaptive.delay()), (1, None));
}

#[test]
fn timed_out_and_cancelled_attempts_count_as_longer_than_they_ran() {
    let clock = VirtualClock::new();
    let adaptive = Adaptive::quantile(0.5).warm_up(1);
    let never = || std::future::pending::<Outcome>();
    let race = || Race::at(clock.timer()).of(&adaptive, [never()]);
    let error = clock.run(race().attempt_timeout(ms(30)).first_ok());
    assert_eq!(error.unwrap().unwrap_err().failed().len(), 1);
    assert_eq!(adaptive.samples(), 1);
    let learnt = adaptive.delay().unwrap();
    assert!(ms(30) <= learnt && learnt < ms(31));

    let error = clock.run(race().deadline(ms(50)).first_ok());
    assert!(matches!(error, Ok(Err(_))));
    assert_eq!(adaptive.samples(), 2);
    let learnt = adaptive.delay().unwrap();
    assert!(ms(50) <= learnt && learnt < ms(51));
}
