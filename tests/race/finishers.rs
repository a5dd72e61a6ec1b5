use std::time::Duration;

use futures::{StreamExt, future::ready, poll, stream};
use race::{RaceError, core::Race, test::VirtualClock};

use crate::probe::{Trace, ms};

type Outcome = Result<&'static str, &'static str>;

#[test]
fn first_returns_argument_index_and_time_of_the_winner() {
    let clock = VirtualClock::new();
    let run = |millis: &u64| clock.sleep(ms(*millis));
    let race = Race::at(clock.timer()).new(ms(50), run, [100, 20, 80]);
    let won = clock.run(race.first()).unwrap().unwrap();
    assert_eq!((won.arg, won.index, won.elapsed), (20, 1, ms(70)));
}

#[test]
fn tie_goes_to_the_lower_index() {
    let clock = VirtualClock::new();
    // All are ready at 100; they were woken in the order 2, 1, 0.
    let attempts = [100, 50, 0].map(|millis| {
        let clock = clock.clone();
        async move {
            clock.sleep(ms(100 - millis)).await;
            clock.sleep(ms(millis)).await;
        }
    });
    let race = Race::at(clock.timer()).of(Duration::ZERO, attempts);
    assert_eq!(clock.run(race.first()).unwrap().unwrap().index, 0);
}

#[test]
fn race_without_candidates_returns_none_or_an_error() {
    let clock = VirtualClock::new();
    let none: [std::future::Ready<Outcome>; 0] = [];
    let race = Race::at(clock.timer()).of(ms(1), none.clone());
    assert_eq!(clock.run(race.first()), Ok(None));
    let race = Race::at(clock.timer()).of(ms(1), none);
    assert_eq!(clock.run(race.first_ok()), Ok(Err(RaceError::NoCandidates)));
}

fn attempt(clock: &VirtualClock, millis: u64, outcome: Outcome) -> impl Future<Output = Outcome> {
    let clock = clock.clone();
    async move {
        clock.sleep(ms(millis)).await;
        outcome
    }
}

#[test]
fn failure_of_latest_attempt_starts_next_at_once() {
    let clock = VirtualClock::new();
    let attempts = [(1, Err("refused")), (0, Ok("fine"))].map(|(at, it)| attempt(&clock, at, it));
    let race = Race::at(clock.timer()).of(Duration::MAX, attempts);
    let won = clock.run(race.first_ok()).unwrap().unwrap();
    assert_eq!((won.index, won.output, won.elapsed), (1, "fine", ms(1)));
}

#[test]
fn delay_counts_from_the_start_that_a_failure_caused() {
    let clock = VirtualClock::new();
    let starts = Trace::new(&clock);
    let run = |&(millis, outcome): &(u64, Outcome)| {
        let attempt = starts.attempt(millis);
        async move {
            attempt.await;
            outcome
        }
    };
    let candidates = [
        (300, Err("slow")),
        (30, Err("the latest, at 130")),
        (300, Err("slow too")),
        (0, Ok("fine")),
    ];
    let race = Race::at(clock.timer()).new(ms(100), run, candidates);
    let won = clock.run(race.first_ok()).unwrap().unwrap();
    assert_eq!((won.index, won.elapsed), (3, ms(230)));
    assert_eq!(starts.millis(), [0, 100, 130, 230]);
}

#[test]
fn failure_of_older_attempt_starts_nothing_early() {
    let clock = VirtualClock::new();
    let candidates = [(120, Err("old")), (500, Ok("slow")), (0, Ok("fine"))];
    let attempts = candidates.map(|(at, it)| attempt(&clock, at, it));
    let race = Race::at(clock.timer()).of(ms(100), attempts);
    let won = clock.run(race.first_ok()).unwrap().unwrap();
    assert_eq!((won.index, won.elapsed), (2, ms(200)));
}

#[test]
fn failure_in_a_stream_starts_nothing_early() {
    let clock = VirtualClock::new();
    let candidates = [(1, Err("refused")), (0, Ok("fine"))];
    let mut race =
        Race::at(clock.timer()).of(ms(100), candidates.map(|(at, it)| attempt(&clock, at, it)));
    assert_eq!(clock.run(race.next()), Ok(Some((0, Err("refused")))));
    assert_eq!(clock.run(race.next()), Ok(Some((1, Ok("fine")))));
    assert_eq!(clock.elapsed(), ms(100));
}

#[test]
fn failures_are_in_the_order_in_which_they_happened() {
    let clock = VirtualClock::new();
    let run = |millis: &u64| attempt(&clock, *millis, Err("down"));
    let race = Race::at(clock.timer()).new(Duration::ZERO, run, [30, 10, 20]);
    let error = clock.run(race.first_ok()).unwrap().unwrap_err();
    let failed = error.failed().iter();
    let order: Vec<_> = failed.map(|it| (it.index, it.arg, it.elapsed)).collect();
    assert_eq!(order, [(1, 10, ms(10)), (2, 20, ms(20)), (0, 30, ms(30))]);
    assert_eq!(
        error.to_string(),
        "all 3 attempts failed: #1: down; #2: down; #0: down"
    );
}

#[test]
fn failure_makes_room_in_a_full_race() {
    let clock = VirtualClock::new();
    let candidates = [(50, Err("down")), (10, Ok("fine"))];
    let attempts = candidates.map(|(at, it)| attempt(&clock, at, it));
    let race = Race::at(clock.timer())
        .of(Duration::ZERO, attempts)
        .max_in_flight(1);
    let won = clock.run(race.first_ok()).unwrap().unwrap();
    assert_eq!((won.index, won.elapsed), (1, ms(60)));
}

#[test]
fn finisher_can_be_awaited_in_pieces() {
    let clock = VirtualClock::new();
    let mut first = Race::at(clock.timer())
        .of(ms(50), [clock.sleep(ms(70))])
        .first();
    clock
        .run(async {
            let pause = clock.sleep(ms(30));
            futures::future::select(&mut first, pause).await;
            assert_eq!(first.await.map(|won| won.elapsed), Some(ms(70)));
        })
        .unwrap();
}

#[test]
fn elapsed_counts_from_the_start_of_the_first_attempt() {
    let clock = VirtualClock::new();
    let late = stream::once(clock.sleep(ms(30))).boxed_local();
    let run = |(): &()| clock.sleep(ms(7));
    let race = Race::at(clock.timer()).from_stream(ms(50), run, late);
    let won = clock.run(race.first()).unwrap().unwrap();
    assert_eq!((won.elapsed, clock.elapsed()), (ms(7), ms(37)));
}

#[test]
fn endless_failures_do_not_hang_a_poll() {
    let clock = VirtualClock::new();
    for max in [1, usize::MAX] {
        let failures = (0..).map(|_| ready(Err::<(), _>("again")));
        let race = Race::at(clock.timer())
            .of(ms(50), failures)
            .max_in_flight(max);
        let mut first_ok = race.first_ok();
        clock
            .run(async {
                for _ in 0..10 {
                    assert!(poll!(&mut first_ok).is_pending());
                }
            })
            .unwrap();
    }
}
