//! Checks for the contract of [`Timer`], to be called from the tests of a timer.
//!
//! | check | what it proves |
//! | --- | --- |
//! | [`timer`] | each rule of the contract |
//! | [`clones`](fn@clones) | a clone is a fresh, independent timer on the same clock |
//! | [`fairness`](fn@fairness) | neither the timer nor an attempt starves the other |
//!
//! Call them where the timer works, such as inside its runtime. On a real clock they sleep for
//! about a second in total. A timer may be late, but one that has not woken after ten seconds fails
//! the check.
//!
//! ```
//! use race_core::{VirtualClock, conformance};
//!
//! let clock = VirtualClock::new();
//! clock.run(conformance::timer(|| clock.timer()))?;
//! clock.run(conformance::clones(|| clock.timer()))?;
//! # Ok::<(), race_core::Deadlock>(())
//! ```

mod clones;
mod fairness;

use alloc::{boxed::Box, sync::Arc, task::Wake, vec::Vec};
use core::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    task::{Context, Poll, Waker},
    time::Duration,
};
use std::{sync::mpsc, thread};

use crate::{Moment, Timer};

pub use clones::clones;
pub use fairness::fairness;

const SHORT: Duration = Duration::from_millis(20);
const HOUR: Duration = Duration::from_secs(3_600);
/// The real time after which a timer that does not wake fails the check.
const STUCK: Duration = Duration::from_secs(10);

/// Checks each rule of the contract of [`Timer`]. `make` returns a new timer.
///
/// # Panics
///
/// Panics if the timer breaks a rule; the message names the rule.
pub async fn timer<T: Timer>(make: impl Fn() -> T) {
    never_early(&make).await;
    level_triggered(&make).await;
    never_is_never(&make).await;
    latest_waker_wins(&make).await;
    shortened_and_lengthened(&make).await;
    disarmed(&make).await;
    dropped_while_armed(&make).await;
}

async fn never_early<T: Timer>(make: &impl Fn() -> T) {
    for micros in [0, 1, 999, 1_000, 1_001, 7_300, 20_000] {
        let mut timer = pin!(make());
        let deadline = timer.now() + Duration::from_micros(micros);
        until(timer.as_mut(), deadline).await;
    }
    // Many timers at once, armed out of order.
    let mut timers: Vec<_> = (0..50u64)
        .map(|index| {
            let timer = Box::pin(make());
            let deadline = timer.now() + Duration::from_micros(index * 7_919 % 50 * 400);
            (timer, deadline)
        })
        .collect();
    let mut all = pin!(poll_fn(|cx| {
        timers.retain_mut(|(timer, deadline)| {
            let pending = timer.as_mut().poll_until(*deadline, cx).is_pending();
            assert!(
                pending || timer.now() >= *deadline,
                "a timer is never early"
            );
            pending
        });
        match timers.is_empty() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }));
    watched("many timers must all wake", all.as_mut()).await;
}

async fn level_triggered<T: Timer>(make: &impl Fn() -> T) {
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

async fn never_is_never<T: Timer>(make: &impl Fn() -> T) {
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

/// A timer may move to another task between two polls; then only the new task is woken.
async fn latest_waker_wins<T: Timer>(make: &impl Fn() -> T) {
    // The timer moves from another task to this one.
    let other = Arc::new(Woken::default());
    let mut timer = pin!(make());
    let deadline = timer.now() + SHORT;
    let _ = poll_as(&other, timer.as_mut(), deadline);
    until(timer.as_mut(), deadline).await;

    // The timer moves from this task to another.
    let mut timer = pin!(make());
    let other = move_to_other_task(timer.as_mut()).await;
    let rule = "the latest waker wins: the task that polled last must be woken";
    woken(rule, make, &other).await;
}

async fn shortened_and_lengthened<T: Timer>(make: &impl Fn() -> T) {
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

async fn disarmed<T: Timer>(make: &impl Fn() -> T) {
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

async fn dropped_while_armed<T: Timer>(make: &impl Fn() -> T) {
    let other = Arc::new(Woken::default());
    for micros in (0..20_000).step_by(1_000) {
        let mut timer = pin!(make());
        let deadline = timer.now() + Duration::from_micros(micros);
        let _ = poll_once(timer.as_mut(), deadline).await;
        let mut moved = Box::pin(make());
        let _ = moved.as_mut().poll_until(
            deadline,
            &mut Context::from_waker(&Waker::from(other.clone())),
        );
    }
    let mut timer = pin!(make());
    let deadline = timer.now() + SHORT * 2;
    until(timer.as_mut(), deadline).await;
}

/// Waits until the other task is woken, and panics with `rule` if it is not.
async fn woken<T: Timer>(rule: &str, make: &impl Fn() -> T, other: &Woken) {
    let mut clock = pin!(make());
    let mut later = clock.now() + SHORT;
    for _ in 0..STUCK.as_millis() / SHORT.as_millis() {
        until(clock.as_mut(), later).await;
        later += SHORT;
        if other.count.load(Ordering::Relaxed) > 0 {
            return;
        }
    }
    panic!("{rule}");
}

/// Waits for a deadline as a race does.
async fn until<T: Timer>(mut timer: Pin<&mut T>, deadline: Moment) {
    let mut ready = pin!(poll_fn(|cx| timer.as_mut().poll_until(deadline, cx)));
    watched("a timer must wake when its deadline passes", ready.as_mut()).await;
    let now = timer.now();
    assert!(
        now >= deadline,
        "a timer is never early: ready at {now:?}, for {deadline:?}"
    );
}

async fn poll_once<T: Timer>(mut timer: Pin<&mut T>, deadline: Moment) -> Poll<()> {
    poll_fn(|cx| Poll::Ready(timer.as_mut().poll_until(deadline, cx))).await
}

/// Arms a timer from this task, then for the same deadline from another task, which it returns.
async fn move_to_other_task<T: Timer>(mut timer: Pin<&mut T>) -> Arc<Woken> {
    let other = Arc::new(Woken::default());
    loop {
        let deadline = timer.now() + SHORT;
        let here = poll_once(timer.as_mut(), deadline).await;
        let there = poll_as(&other, timer.as_mut(), deadline);
        if here.is_pending() && there.is_pending() {
            return other;
        }
        // The machine was too slow to arm the timer before its deadline.
        assert!(timer.now() >= deadline, "a timer is never early");
    }
}

/// Polls a timer with the waker of another task.
fn poll_as<T: Timer>(task: &Arc<Woken>, timer: Pin<&mut T>, deadline: Moment) -> Poll<()> {
    let waker = Waker::from(task.clone());
    timer.poll_until(deadline, &mut Context::from_waker(&waker))
}

#[derive(Default)]
struct Woken {
    count: AtomicUsize,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

/// Awaits `future`, and panics with `rule` if it has not ended after [`STUCK`] of real time.
///
/// A thread measures that time, because the timer under test cannot.
async fn watched<F: Future>(rule: &str, mut future: Pin<&mut F>) -> F::Output {
    let stuck = Arc::new(AtomicBool::new(false));
    let mut watch: Option<mpsc::Sender<()>> = None;
    poll_fn(|cx| {
        // Before the poll, which would hide a missing wake if the deadline has passed by now.
        assert!(
            !stuck.load(Ordering::Acquire),
            "{rule}: no wake for {STUCK:?}"
        );
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(output);
        }
        watch.get_or_insert_with(|| {
            let (sender, ended) = mpsc::channel();
            let (stuck, waker) = (stuck.clone(), cx.waker().clone());
            thread::spawn(move || {
                if ended.recv_timeout(STUCK) == Err(mpsc::RecvTimeoutError::Timeout) {
                    stuck.store(true, Ordering::Release);
                    waker.wake();
                }
            });
            sender
        });
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests;
