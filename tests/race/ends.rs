use std::{error::Error, io, time::Duration};

use futures::{StreamExt, future::ready, poll, stream};
use race::{NoCandidates, RaceError, VirtualClock, core::Race};

use crate::probe::{Trace, ms};

type Outcome = Result<&'static str, &'static str>;

#[test]
fn first_gives_the_winner_its_argument_place_and_time() {
    let clock = VirtualClock::new();
    let run = |millis: &u64| clock.sleep(ms(*millis));
    let race = Race::new_with(clock.timer(), ms(50), run, [100, 20, 80]);
    let won = clock.run(race.first()).unwrap().unwrap();
    assert_eq!((won.arg, won.place, won.elapsed), (20, 1, ms(70)));
}

#[test]
fn a_tie_goes_to_the_lower_place() {
    let clock = VirtualClock::new();
    // All are ready at 100; they were woken in the order 2, 1, 0.
    let attempts = [100, 50, 0].map(|millis| {
        let clock = clock.clone();
        async move {
            clock.sleep(ms(100 - millis)).await;
            clock.sleep(ms(millis)).await;
        }
    });
    let race = Race::of_with(clock.timer(), Duration::ZERO, attempts);
    assert_eq!(clock.run(race.first()).unwrap().unwrap().place, 0);
}

#[test]
fn an_empty_race_is_an_answer() {
    let clock = VirtualClock::new();
    let none: [std::future::Ready<Outcome>; 0] = [];
    let race = Race::of_with(clock.timer(), ms(1), none.clone());
    assert_eq!(clock.run(race.first()), Ok(Err(NoCandidates)));
    let race = Race::of_with(clock.timer(), ms(1), none);
    assert_eq!(clock.run(race.first_ok()), Ok(Err(RaceError::NoCandidates)));
    assert_eq!(
        NoCandidates.to_string(),
        "no candidates to race: give at least one"
    );
}

fn attempt(clock: &VirtualClock, millis: u64, outcome: Outcome) -> impl Future<Output = Outcome> {
    let clock = clock.clone();
    async move {
        clock.sleep(ms(millis)).await;
        outcome
    }
}

#[test]
fn a_failure_of_the_latest_starts_the_next_at_once() {
    let clock = VirtualClock::new();
    let attempts = [(1, Err("refused")), (0, Ok("fine"))].map(|(at, it)| attempt(&clock, at, it));
    let race = Race::of_with(clock.timer(), Duration::MAX, attempts);
    let won = clock.run(race.first_ok()).unwrap().unwrap();
    assert_eq!((won.place, won.output, won.elapsed), (1, "fine", ms(1)));
}

#[test]
fn after_a_failure_the_step_counts_anew() {
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
    let race = Race::new_with(clock.timer(), ms(100), run, candidates);
    let won = clock.run(race.first_ok()).unwrap().unwrap();
    assert_eq!((won.place, won.elapsed), (3, ms(230)));
    assert_eq!(starts.millis(), [0, 100, 130, 230]);
}

#[test]
fn an_older_failure_starts_nothing_early() {
    let clock = VirtualClock::new();
    let candidates = [(120, Err("old")), (500, Ok("slow")), (0, Ok("fine"))];
    let attempts = candidates.map(|(at, it)| attempt(&clock, at, it));
    let race = Race::of_with(clock.timer(), ms(100), attempts);
    let won = clock.run(race.first_ok()).unwrap().unwrap();
    assert_eq!((won.place, won.elapsed), (2, ms(200)));
}

#[test]
fn as_a_stream_a_failure_starts_nothing_early() {
    let clock = VirtualClock::new();
    let candidates = [(1, Err("refused")), (0, Ok("fine"))];
    let mut race = Race::of_with(
        clock.timer(),
        ms(100),
        candidates.map(|(at, it)| attempt(&clock, at, it)),
    );
    assert_eq!(clock.run(race.next()), Ok(Some((0, Err("refused")))));
    assert_eq!(clock.run(race.next()), Ok(Some((1, Ok("fine")))));
    assert_eq!(clock.elapsed(), ms(100));
}

#[test]
fn errors_come_in_candidate_order_whatever_failed_first() {
    let clock = VirtualClock::new();
    let run = |millis: &u64| attempt(&clock, *millis, Err("down"));
    let race = Race::new_with(clock.timer(), Duration::ZERO, run, [30, 10, 20]);
    let Err(RaceError::AllFailed(failed)) = clock.run(race.first_ok()).unwrap() else {
        panic!("all fail");
    };
    let order: Vec<_> = failed.iter().map(|it| (it.place, it.arg)).collect();
    assert_eq!(order, [(0, 30), (1, 10), (2, 20)]);
    let error = RaceError::AllFailed(failed).to_string();
    assert_eq!(
        error,
        "all 3 attempts that were made failed: #0: down; #1: down; #2: down"
    );
}

#[test]
fn a_failed_race_keeps_its_source() {
    let clock = VirtualClock::new();
    let attempts =
        ["no route", "refused"].map(|why| async move { Err::<(), _>(io::Error::other(why)) });
    let race = Race::of_with(clock.timer(), ms(1), attempts);
    let error = clock.run(race.first_ok()).unwrap().unwrap_err();
    assert_eq!(error.source().unwrap().to_string(), "no route");
    assert_eq!(clock.elapsed(), ms(0));
}

#[test]
fn a_race_at_its_bound_goes_on_when_one_fails() {
    let clock = VirtualClock::new();
    let candidates = [(50, Err("down")), (10, Ok("fine"))];
    let attempts = candidates.map(|(at, it)| attempt(&clock, at, it));
    let race = Race::of_with(clock.timer(), Duration::ZERO, attempts).max_in_flight(1);
    let won = clock.run(race.first_ok()).unwrap().unwrap();
    assert_eq!((won.place, won.elapsed), (1, ms(60)));
}

#[test]
fn an_end_can_be_awaited_in_pieces() {
    let clock = VirtualClock::new();
    let mut first = Race::of_with(clock.timer(), ms(50), [clock.sleep(ms(70))]).first();
    clock
        .run(async {
            let pause = clock.sleep(ms(30));
            futures::future::select(&mut first, pause).await;
            assert_eq!(first.await.map(|won| won.elapsed), Ok(ms(70)));
        })
        .unwrap();
}

#[test]
fn time_counts_from_the_first_attempt_not_from_waiting_for_it() {
    let clock = VirtualClock::new();
    let late = stream::once(clock.sleep(ms(30))).boxed_local();
    let run = |(): &()| clock.sleep(ms(7));
    let race = Race::from_stream_with(clock.timer(), ms(50), run, late);
    let won = clock.run(race.first()).unwrap().unwrap();
    assert_eq!((won.elapsed, clock.elapsed()), (ms(7), ms(37)));
}

#[test]
fn endless_failures_never_hang_a_poll() {
    let clock = VirtualClock::new();
    for max in [1, usize::MAX] {
        let failures = (0..).map(|_| ready(Err::<(), _>("again")));
        let race = Race::of_with(clock.timer(), ms(50), failures).max_in_flight(max);
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
