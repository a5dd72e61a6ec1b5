//! The rules that one task can check alone.

use core::{
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use super::{HOUR, SHORT, poll_once, until, watched::watched};
use crate::{
    Moment, Timer,
    attempts::{AttemptSet, InlineAttempts},
};

/// The number of timers that [`many_at_once`] arms.
const MANY: usize = 50;

/// Checks that a timer is ready only when [`now`](Timer::now) has reached its deadline. `make`
/// returns a new timer.
///
/// # Panics
///
/// Panics if the timer breaks the rule.
pub async fn never_early<T: Timer>(make: impl Fn() -> T) {
    for micros in [0, 1, 999, 1_000, 1_001, 7_300, 20_000] {
        let mut timer = pin!(make());
        let deadline = timer.now() + Duration::from_micros(micros);
        until(timer.as_mut(), deadline).await;
    }
}

/// Checks that of many timers, armed out of order by one task, each wakes. `make` returns a new
/// timer.
///
/// # Panics
///
/// Panics if a timer is early, or if one does not wake.
pub async fn many_at_once<T: Timer>(make: impl Fn() -> T) {
    let expire = async |index: u64| {
        let mut timer = pin!(make());
        let deadline = timer.now() + Duration::from_micros(index * 7_919 % MANY as u64 * 400);
        poll_fn(|cx| timer.as_mut().poll_until(deadline, cx)).await;
        assert!(timer.now() >= deadline, "a timer is never early");
    };
    let mut timers = pin!(InlineAttempts::<_, (), MANY>::new());
    let mut armed = 0;
    let mut all = pin!(poll_fn(|cx: &mut Context<'_>| {
        while armed < MANY as u64 {
            let _ = timers.as_mut().push_and_poll((), expire(armed), cx);
            armed += 1;
        }
        loop {
            match timers.as_mut().poll_ready(cx) {
                Poll::Ready(Some(_)) => {}
                Poll::Ready(None) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    }));
    watched("many timers must all wake", all.as_mut()).await;
}

/// Checks that once a deadline has passed, each later poll for it is ready. `make` returns a new
/// timer.
///
/// # Panics
///
/// Panics if the timer breaks the rule.
pub async fn level_triggered<T: Timer>(make: impl Fn() -> T) {
    let mut timer = pin!(make());
    let before = timer.now();
    let deadline = before + SHORT;
    until(timer.as_mut(), deadline).await;
    for past in [deadline, deadline, before, Moment::ZERO, deadline] {
        let polled = poll_once(timer.as_mut(), past).await;
        assert!(
            polled.is_ready(),
            "a timer is level-triggered: pending for {past:?}, which has passed"
        );
    }
    let mut fresh = pin!(make());
    let polled = poll_once(fresh.as_mut(), before).await;
    assert!(
        polled.is_ready(),
        "a fresh timer is ready for what has passed"
    );
}

/// Checks that [`Moment::NEVER`] and deadlines of many years stay pending, and that a timer that
/// had one can be used again. `make` returns a new timer.
///
/// # Panics
///
/// Panics if the timer breaks the rule.
pub async fn never_is_never<T: Timer>(make: impl Fn() -> T) {
    let mut timer = pin!(make());
    assert!(
        poll_once(timer.as_mut(), Moment::NEVER).await.is_pending(),
        "`Moment::NEVER` never passes"
    );
    let soon = timer.now() + SHORT;
    until(timer.as_mut(), soon).await;
    for far in [
        Moment::NEVER,
        Moment::from_nanos(u64::MAX - 1),
        soon + HOUR * 24 * 365 * 100,
    ] {
        assert!(
            poll_once(timer.as_mut(), far).await.is_pending(),
            "{far:?} is far away"
        );
    }
    let soon = timer.now() + SHORT;
    until(timer.as_mut(), soon).await;
}

/// Checks that a new deadline, earlier or later, replaces the previous one. `make` returns a new
/// timer.
///
/// # Panics
///
/// Panics if the timer breaks the rule.
pub async fn moved_deadline<T: Timer>(make: impl Fn() -> T) {
    let mut timer = pin!(make());
    let start = timer.now();
    assert!(
        poll_once(timer.as_mut(), start + HOUR).await.is_pending(),
        "an hour has not passed"
    );
    until(timer.as_mut(), start + SHORT).await; // fails as stuck if it still waits for the hour

    let start = timer.now();
    let _ = poll_once(timer.as_mut(), start + SHORT).await;
    let longer = start + SHORT * 3;
    until(timer.as_mut(), longer).await;
}

/// Checks that [`disarm`](Timer::disarm) may be called at any time, and that the timer can be used
/// after it. `make` returns a new timer.
///
/// # Panics
///
/// Panics if the timer breaks the rule.
pub async fn disarmed<T: Timer>(make: impl Fn() -> T) {
    let mut timer = pin!(make());
    timer.as_mut().disarm(); // nothing is armed
    let deadline = timer.now() + SHORT;
    let _ = poll_once(timer.as_mut(), deadline).await;
    timer.as_mut().disarm();
    timer.as_mut().disarm();
    until(timer.as_mut(), deadline).await; // armed again
    timer.as_mut().disarm();
    assert!(
        poll_once(timer.as_mut(), deadline).await.is_ready(),
        "a passed deadline stays passed after `disarm`"
    );
}

/// Checks that armed timers may be dropped, and that other timers wake nevertheless. `make` returns
/// a new timer.
///
/// # Panics
///
/// Panics if another timer does not wake.
pub async fn dropped_while_armed<T: Timer>(make: impl Fn() -> T) {
    for micros in (0..20_000).step_by(1_000) {
        arm_and_drop(pin!(make()), Duration::from_micros(micros)).await;
    }
    let mut timer = pin!(make());
    let deadline = timer.now() + SHORT * 2;
    until(timer.as_mut(), deadline).await;
}

async fn arm_and_drop<T: Timer>(timer: Pin<&mut T>, delay: Duration) {
    let deadline = timer.now() + delay;
    let _ = poll_once(timer, deadline).await;
}
