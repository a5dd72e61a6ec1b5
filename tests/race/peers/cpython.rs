//! Facts from the tests of CPython's `staggered_race` (Lib/test/test_asyncio/test_staggered.py),
//! and of aiohappyeyeballs. Its "no delay" is a policy without delays: only a failure starts the
//! next attempt.

use std::{
    cell::Cell,
    pin::pin,
    task::{Context, Poll},
    time::Duration,
};

use futures::{
    channel::oneshot,
    task::{noop_waker, waker},
};
use race::{RaceError, Won, core::Race, test::VirtualClock};

use crate::probe::ms;

/// Latency in milliseconds, and the result.
type Candidate = (u64, Result<&'static str, &'static str>);
type Ended = Result<Won<Candidate, &'static str>, RaceError<Candidate, &'static str>>;

/// Races the candidates. Returns the result, the number of starts, and the time of the end.
fn race(delay: Option<Duration>, candidates: &[Candidate]) -> (Ended, usize, Duration) {
    let (clock, started) = (VirtualClock::new(), Cell::new(0));
    let run = |&(millis, outcome): &Candidate| {
        started.set(started.get() + 1);
        let sleep = clock.sleep(ms(millis));
        async move {
            sleep.await;
            outcome
        }
    };
    let race = Race::at(clock.timer()).new(|_: usize| delay, run, candidates.iter().copied());
    let ended = clock.run(race.first_ok()).unwrap();
    (ended, started.get(), clock.elapsed())
}

/// Index and time of the winner.
fn won(ended: Ended) -> (usize, Duration) {
    let won = ended.expect("one succeeds");
    (won.index, won.elapsed)
}

#[test]
fn c1_empty() {
    let (ended, started, _) = race(None, &[]);
    assert_eq!((ended.unwrap_err(), started), (RaceError::NoCandidates, 0));
}

#[test]
fn c2_one_successful() {
    let (ended, started, _) = race(None, &[(0, Ok("index 0")), (0, Ok("index 1"))]);
    assert_eq!((won(ended), started), ((0, ms(0)), 1));
}

#[test]
fn c3_first_error_second_successful() {
    let (ended, started, _) = race(None, &[(0, Err("E0")), (0, Ok("index 1"))]);
    assert_eq!((won(ended), started), ((1, ms(0)), 2));
}

#[test]
fn c4_first_timeout_second_successful() {
    let (ended, ..) = race(
        Some(ms(100)),
        &[(10_000, Ok("index 0")), (0, Ok("index 1"))],
    );
    assert_eq!(won(ended), (1, ms(100)));
}

#[test]
fn c5_none_successful() {
    for delay in [None, Some(ms(0)), Some(ms(100)), Some(ms(1_000))] {
        let (ended, started, over) = race(delay, &[(0, Err("E0")), (0, Err("E1"))]);
        let Err(RaceError::AllFailed { failed, .. }) = ended else {
            panic!("none succeeds");
        };
        let errors: Vec<_> = failed
            .into_iter()
            .filter_map(|it| it.failure.into_error())
            .collect();
        assert_eq!((errors, started, over), (vec!["E0", "E1"], 2, ms(0)));
    }
}

#[test]
fn c6_long_delay_early_failure() {
    let (ended, ..) = race(Some(ms(10_000)), &[(100, Err("E0")), (0, Ok("index 1"))]);
    assert_eq!(won(ended), (1, ms(100)));
}

#[test]
fn c7_multiple_winners() {
    let clock = VirtualClock::new();
    let started = Cell::new(0);
    let run = |_: &usize| {
        started.set(started.get() + 1);
        // One event at 100 completes all four.
        let released = clock.sleep(ms(100) - clock.elapsed());
        async move {
            released.await;
            Ok::<_, ()>(())
        }
    };
    let race = Race::at(clock.timer()).new(ms(1), run, 0..4);
    let won = clock.run(race.first_ok()).unwrap().unwrap();
    assert_eq!((won.index, started.get()), (0, 4));
}

#[test]
fn c8_one_winner_and_the_others_never_run() {
    let (ended, started, _) = race(None, &[(0, Ok("it")); 4]);
    assert_eq!((won(ended), started), ((0, ms(0)), 1));
}

#[test]
fn c9_cancelled() {
    // Dropping the race cancels its attempts.
    let clock = VirtualClock::new();
    let (sender, receiver) = oneshot::channel::<Result<(), ()>>();
    let attempt = async { receiver.await.unwrap_or(Err(())) };
    let mut race = Box::pin(Race::at(clock.timer()).of(ms(1), [attempt]).first_ok());
    let waker = noop_waker();
    assert!(
        race.as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    assert!(!sender.is_canceled());
    drop(race);
    assert!(sender.is_canceled());
}

#[test]
fn c10_ready_at_the_first_poll() {
    // The waker must not be used.
    struct Unused;
    impl futures::task::ArcWake for Unused {
        fn wake_by_ref(_: &std::sync::Arc<Self>) {
            panic!("nothing waits");
        }
    }
    let clock = VirtualClock::new();
    let attempts = [async { Ok::<_, ()>("at once") }];
    let mut race = pin!(Race::at(clock.timer()).of(ms(1), attempts).first_ok());
    let waker = waker(std::sync::Arc::new(Unused));
    let polled = race.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(matches!(polled, Poll::Ready(Ok(won)) if won.output == "at once"));
}
