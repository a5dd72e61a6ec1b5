//! A delay that is learnt from races, by the cases of those who did it before.

use std::{cell::Cell, sync::Arc, time::Duration};

use race::{Adaptive, Event, Fixed, OnFailure, Verdict, VirtualClock, What, core::Race};

use crate::probe::ms;
use requests::{serve, serve_adaptive, winners_only};
use shapes::{SHAPES, STRAGGLERS};

#[path = "../../benches/hedging/requests.rs"]
mod requests;
#[path = "../../benches/hedging/shapes.rs"]
mod shapes;

type Outcome = Result<&'static str, &'static str>;

/// What came of a race: the answer, when, and how many attempts it took.
type Ended = (Outcome, Duration, usize);

/// Races attempts that take so many milliseconds, by Finagle's rule: a failure of the only one is the
/// answer, and after a failure of one of two the other is waited for.
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
    let race = Race::new_with(clock.timer(), ms(0), run, attempts.iter().copied())
        .adaptive_with(clock.clone(), adaptive)
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

/// Warmed up as tower's tests are.
fn tower(clock: &VirtualClock) -> Adaptive {
    let adaptive = Adaptive::quantile(0.9).warm_up(10);
    warm(clock, &adaptive, 8, 1);
    warm(clock, &adaptive, 2, 10);
    adaptive
}

#[test]
fn tower_h1_the_hedge_is_sent_by_11_ms_and_the_original_replies() {
    let clock = VirtualClock::new();
    let adaptive = tower(&clock);
    let delay = adaptive.delay().unwrap();
    assert!(ms(10) <= delay && delay < ms(11));
    let ended = race(&clock, &adaptive, &[(15, Ok("orig")), (15, Ok("hedge"))]);
    assert_eq!(ended, (Ok("orig"), ms(15), 2));
}

#[test]
fn tower_h2_the_hedge_replies() {
    let clock = VirtualClock::new();
    let adaptive = tower(&clock);
    let delay = adaptive.delay().unwrap();
    let ended = race(&clock, &adaptive, &[(99, Ok("orig")), (3, Ok("hedge"))]);
    assert_eq!(ended, (Ok("hedge"), delay + ms(3), 2));
}

#[test]
fn tower_h3_the_original_replies_before_the_delay_and_there_is_no_hedge() {
    let clock = VirtualClock::new();
    let adaptive = tower(&clock);
    let ended = race(&clock, &adaptive, &[(10, Ok("orig")), (1, Ok("hedge"))]);
    assert_eq!(ended, (Ok("orig"), ms(10), 1));
}

#[test]
fn failsafe_f6_nothing_is_hedged_while_it_warms_up() {
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
fn failsafe_f7_after_25_of_5_ms_one_of_200_ms_is_hedged_once() {
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

/// Warmed up as Finagle's tests are: the delay is 2 s.
fn finagle(clock: &VirtualClock) -> (Adaptive, Duration) {
    let adaptive = Adaptive::extra_load(1.0).memory(1_000);
    warm(clock, &adaptive, 100, 2_000);
    let delay = adaptive.delay().unwrap();
    assert!(ms(2_000) <= delay && delay <= ms(2_032));
    (adaptive, delay)
}

#[test]
fn finagle_n1_an_original_that_is_fast_is_recorded_and_there_is_no_backup() {
    let clock = VirtualClock::new();
    let (adaptive, _) = finagle(&clock);
    let ended = race(&clock, &adaptive, &[(1_000, Ok("orig")), (1, Ok("backup"))]);
    assert_eq!(ended, (Ok("orig"), ms(1_000), 1));
    assert_eq!(adaptive.samples(), 101);
}

#[test]
fn finagle_n2_an_original_that_fails_is_not_recorded_and_the_error_comes_at_once() {
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
fn finagle_n3_a_backup_that_wins_is_recorded_and_so_is_the_original_as_superseded() {
    let clock = VirtualClock::new();
    let (adaptive, delay) = finagle(&clock);
    let attempts = [(60_000, Ok("orig")), (1_000, Ok("backup"))];
    let ended = race(&clock, &adaptive, &attempts);
    assert_eq!(ended, (Ok("backup"), delay + ms(1_000), 2));
    assert_eq!(adaptive.samples(), 102);
    // The one of 3 s that was lost is now a hundredth: a few more, and the delay is beyond what is known.
    for _ in 0..3 {
        assert_eq!(race(&clock, &adaptive, &attempts).0, Ok("backup"));
    }
    let learnt = adaptive.delay().unwrap();
    assert!(ms(3_000) <= learnt && learnt <= ms(6_100), "{learnt:?}");
}

#[test]
fn finagle_n4_an_original_that_is_not_interrupted_is_recorded_when_it_ends() {
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
    let race = Race::of_with(clock.timer(), ms(0), attempts)
        .adaptive_with(clock.clone(), &adaptive)
        .observer_with(clock.clone(), |event: Event| seen.set(Some(event)));
    let (answer, mut losers) = clock.run(race.first_ok_then_drain()).unwrap();
    assert_eq!(answer.unwrap().elapsed, delay + ms(1_000));
    assert_eq!(adaptive.samples(), 101);
    let late = clock.run(losers.next()).unwrap();
    assert_eq!(late, Some((0, Ok("orig"))));
    let event = seen.get().unwrap();
    assert_eq!((event.what, event.ran), (What::Finished, ms(9_000)));
    drop(losers);
    assert_eq!(adaptive.samples(), 102);
}

#[test]
fn finagle_n5_an_original_that_wins_late_is_recorded_and_so_is_the_backup() {
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
fn finagle_n6_and_n7_the_other_is_waited_for_and_what_failed_is_not_recorded() {
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
fn a_failure_starts_the_next_while_it_warms_up() {
    let clock = VirtualClock::new();
    let adaptive = Arc::new(Adaptive::quantile(0.9));
    let attempts = [(7, Err("refused")), (5, Ok("fine"))].map(|(millis, outcome)| {
        let sleep = clock.sleep(ms(millis));
        async move {
            sleep.await;
            outcome as Outcome
        }
    });
    let race = Race::of_with(clock.timer(), ms(0), attempts)
        .adaptive_with(clock.clone(), adaptive.clone());
    let won = clock.run(race.first_ok()).unwrap().unwrap();
    assert_eq!((won.output, won.elapsed), ("fine", ms(12)));
    assert_eq!((adaptive.samples(), adaptive.delay()), (1, None));
}

#[test]
fn what_timed_out_or_was_dropped_with_its_race_would_have_taken_longer() {
    let clock = VirtualClock::new();
    let adaptive = Adaptive::quantile(0.5).warm_up(1);
    let never = || std::future::pending::<Outcome>();
    let race = || Race::of_with(clock.timer(), ms(0), [never()]);
    let race_out = race().adaptive_with(clock.clone(), &adaptive);
    let error = clock.run(race_out.first_ok().attempt_timeout(ms(30)));
    assert_eq!(error.unwrap().unwrap_err().failed().len(), 1);
    assert_eq!(adaptive.samples(), 1);
    let learnt = adaptive.delay().unwrap();
    assert!(ms(30) <= learnt && learnt < ms(31));

    let over = race().adaptive_with(clock.clone(), &adaptive);
    let error = clock.run(over.first_ok().deadline(ms(50)));
    assert!(matches!(error, Ok(Err(_))));
    assert_eq!(adaptive.samples(), 2);
    let learnt = adaptive.delay().unwrap();
    assert!(ms(50) <= learnt && learnt < ms(51));
}

#[test]
fn the_load_is_within_a_fifth_of_the_target_on_every_shape() {
    for shape in SHAPES {
        for target in [1.0, 5.0, 10.0] {
            let adaptive = Adaptive::extra_load(target);
            let served = serve_adaptive(&shape, 20_000, &adaptive, &adaptive);
            for spent in [served.load(), served.load_once_warm()] {
                let ratio = spent / target;
                assert!(
                    (1.0 / 1.2..=1.2).contains(&ratio),
                    "{}: {spent}",
                    shape.name
                );
            }
        }
    }
}

#[test]
fn an_estimator_that_is_blind_to_the_losers_spends_more_than_it_was_asked_for() {
    let adaptive = Adaptive::extra_load(5.0);
    let served = serve_adaptive(&STRAGGLERS, 20_000, &adaptive, winners_only(&adaptive));
    assert!(served.load() > 1.5 * 5.0, "{}", served.load());
}

#[test]
fn a_fixed_delay_of_10_ms_spends_7_percent() {
    let served = serve(&STRAGGLERS, 20_000, Fixed(ms(10)));
    assert!((6.9..7.7).contains(&served.load()), "{}", served.load());
}
