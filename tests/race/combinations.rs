//! Combinations of options in which faults were found.

use std::{cell::RefCell, future::pending, panic, pin::Pin, task::Poll, time::Duration};

use futures::{FutureExt as _, Stream as _, StreamExt as _, stream};
use race::{
    Backoff, OnFailure, RaceError,
    core::Race,
    observe::{EventKind, Refusal},
    policy::Permit,
    test::VirtualClock,
};

use crate::probe::ms;

const MAX: Duration = Duration::MAX;

type Attempt = Pin<Box<dyn Future<Output = Result<u64, &'static str>>>>;

fn ok(clock: &VirtualClock, latency: u64) -> Attempt {
    let sleep = clock.sleep(ms(latency));
    Box::pin(async move { Ok(sleep.map(|()| latency).await) })
}

fn err(clock: &VirtualClock, latency: u64) -> Attempt {
    let sleep = clock.sleep(ms(latency));
    Box::pin(async move { Err(sleep.map(|()| "refused").await) })
}

#[test]
fn backoff_that_never_ends_starts_nothing() {
    let clock = VirtualClock::new();
    let attempts = || [err(&clock, 0), ok(&clock, 0)];
    let race = Race::at(clock.timer()).of(Backoff::new(MAX), attempts());
    assert!(clock.run(race.first_ok()).unwrap().is_err());
    let race = Race::at(clock.timer())
        .of(ms(500), attempts())
        .backoff(Backoff::new(MAX));
    assert_eq!(
        clock.run(race.first_ok()).unwrap().unwrap().elapsed,
        ms(500)
    );
}

#[test]
fn deadline_ends_an_endless_race_without_a_delay() {
    for max in [1, usize::MAX] {
        let clock = VirtualClock::new();
        let race = Race::at(clock.timer()).from_fn(ms(0), |_| pending::<()>());
        let mut race = race.deadline(ms(5)).max_in_flight(max);
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        for polls in 0.. {
            assert!(polls < 10, "the deadline was missed");
            match Pin::new(&mut race).poll_next_unpin(&mut cx) {
                Poll::Pending => clock.advance(ms(1)),
                Poll::Ready(item) => {
                    assert_eq!((item, clock.elapsed()), (None, ms(5)));
                    break;
                }
            }
        }
    }
}

#[test]
fn deadline_that_is_set_on_a_polled_race_wakes_it() {
    let clock = VirtualClock::new();
    let attempts = [5_000, 5_000].map(|latency| clock.sleep(ms(latency)));
    let mut race = Race::at(clock.timer()).of(ms(1_000), attempts);
    assert!(race.next().now_or_never().is_none());
    assert!(clock.run(race.deadline(ms(10)).first()).unwrap().is_none());
    assert_eq!(clock.elapsed(), ms(10));
}

#[test]
fn attempts_keep_the_timeout_that_was_set_at_their_start() {
    for (early, late, texts) in [
        (
            1_000,
            10,
            "#1: timed out after 10ms; #0: timed out after 1s",
        ),
        (
            10,
            1_000,
            "#0: timed out after 10ms; #1: timed out after 1s",
        ),
    ] {
        let clock = VirtualClock::new();
        let attempts = [ok(&clock, 5_000), ok(&clock, 5_000)];
        let race = Race::at(clock.timer()).of(ms(5), attempts);
        let mut race = race.attempt_timeout(ms(early));
        assert!(race.next().now_or_never().is_none());
        let ended = clock
            .run(race.attempt_timeout(ms(late)).first_ok())
            .unwrap();
        let text = ended.unwrap_err().to_string();
        assert_eq!(text, format!("all 2 attempts failed: {texts}"));
    }
}

#[test]
fn gate_that_stops_after_it_deferred_is_asked_again_when_idle() {
    let clock = VirtualClock::new();
    let attempts = [100, 100, 100].map(|latency| ok(&clock, latency));
    let gate = |_: &race::policy::RaceState<'_>| match clock.elapsed().as_millis() {
        0..15 => Permit::NotNow,
        15..50 => Permit::Stop,
        _ => Permit::Start,
    };
    let race = Race::at(clock.timer()).of(ms(10), attempts).gate(gate);
    assert!(clock.run(race.quorum(2)).unwrap().is_ok());
}

#[test]
fn full_quorum_race_with_timeouts_notices_the_end_of_its_source() {
    let clock = VirtualClock::new();
    let end = clock.sleep(ms(1_000));
    let source =
        stream::once(async { 5_000 }).chain(stream::once(end).filter_map(|()| async { None }));
    let source = source.boxed_local();
    let race = Race::at(clock.timer()).from_stream(ms(0), |&latency| ok(&clock, latency), source);
    let race = race.max_in_flight(1).deadline(ms(20_000));
    assert!(clock.run(race.quorum(2)).unwrap().is_err());
    assert_eq!(clock.elapsed(), ms(1_000));
}

#[test]
fn race_in_which_nothing_can_start_does_not_wait_for_its_source() {
    let clock = VirtualClock::new();
    let source = stream::once(async { 5 })
        .chain(stream::pending())
        .boxed_local();
    let backoff = Backoff::new(ms(1));
    let race =
        Race::at(clock.timer()).from_stream(backoff, |&latency| err(&clock, latency), source);
    let ended = clock.run(race.on_failure(OnFailure::Wait).first_ok());
    assert!(ended.unwrap().is_err());
    assert_eq!(clock.elapsed(), ms(5));
}

#[test]
fn panicked_attempt_is_reported_in_the_next_poll() {
    let clock = VirtualClock::new();
    let events = RefCell::new(vec![]);
    let attempts = [10, 1_000].map(|latency| {
        let sleep = clock.sleep(ms(latency));
        async move {
            sleep.await;
            assert!(latency > 10, "planned");
        }
    });
    let race = Race::at(clock.timer()).of(ms(0), attempts);
    let mut race = race.on_event(|event| {
        if event.kind != EventKind::Started {
            events
                .borrow_mut()
                .push((event.index, event.kind, event.ran));
        }
    });
    let polled = panic::catch_unwind(panic::AssertUnwindSafe(|| clock.run(race.next())));
    assert!(polled.is_err());
    assert!(clock.run(race.next()).unwrap().is_some());
    let expected = [
        (0, EventKind::Cancelled, ms(10)),
        (1, EventKind::Finished, ms(1_000)),
    ];
    assert_eq!(*events.borrow(), expected);
}

#[test]
fn stream_stays_ended_after_a_panic_at_its_deadline() {
    struct Bomb(bool);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!self.0, "planned");
        }
    }
    let clock = VirtualClock::new();
    let attempts = [true, false, false].map(|explodes| {
        let (sleep, bomb) = (clock.sleep(ms(50)), Bomb(explodes));
        async move {
            let _bomb = bomb;
            sleep.await;
        }
    });
    let mut race = Race::at(clock.timer()).of(ms(0), attempts).deadline(ms(10));
    let polled = panic::catch_unwind(panic::AssertUnwindSafe(|| clock.run(race.next())));
    assert!(polled.is_err());
    assert_eq!(clock.run(race.next()), Ok(None));
    assert!(race.is_empty());
}

#[test]
fn latest_max_attempts_counts() {
    let clock = VirtualClock::new();
    let attempts = [err(&clock, 0), ok(&clock, 0)];
    let race = Race::at(clock.timer()).of(ms(1), attempts).max_attempts(0);
    assert!(clock.run(race.max_attempts(2).first_ok()).unwrap().is_ok());
}

#[test]
fn errors_tell_that_the_policy_starts_nothing_more() {
    let clock = VirtualClock::new();
    let attempts = [err(&clock, 0), ok(&clock, 0)];
    let race = Race::at(clock.timer()).of(Backoff::new(ms(1)), attempts);
    let error = clock
        .run(race.on_failure(OnFailure::Wait).first_ok())
        .unwrap()
        .unwrap_err();
    assert!(matches!(
        &error,
        RaceError::AllFailed {
            refused: Some(Refusal::Policy),
            ..
        }
    ));
    let text = "the attempt failed, and further ones were refused by the policy: #0: refused";
    assert_eq!(error.to_string(), text);
}

#[test]
fn quorum_beyond_max_attempts_says_so() {
    let clock = VirtualClock::new();
    let attempts = [ok(&clock, 0), ok(&clock, 0), ok(&clock, 0)];
    let race = Race::at(clock.timer()).of(ms(1), attempts).max_attempts(1);
    let error = clock.run(race.quorum(2)).unwrap().unwrap_err();
    let refused = error.tally().and_then(|tally| tally.refused);
    assert_eq!(refused, Some(Refusal::MaxAttempts));
}

#[test]
fn quorum_that_failures_put_out_of_reach_was_not_refused() {
    let clock = VirtualClock::new();
    let attempts = [err(&clock, 5), ok(&clock, 5), ok(&clock, 5)];
    let race = Race::at(clock.timer()).of(ms(50), attempts);
    let error = clock.run(race.quorum(3)).unwrap().unwrap_err();
    assert_eq!(error.tally().unwrap().refused, None, "{error}");
}

#[test]
fn size_hint_promises_nothing_that_a_timeout_can_take_away() {
    let clock = VirtualClock::new();
    let race = Race::at(clock.timer()).of(ms(0), [clock.sleep(ms(50))]);
    let mut race = race.attempt_timeout(ms(10));
    assert!(race.next().now_or_never().is_none());
    assert_eq!(race.size_hint(), (0, Some(1)));
    assert_eq!(clock.run(race.next()), Ok(None));
}
