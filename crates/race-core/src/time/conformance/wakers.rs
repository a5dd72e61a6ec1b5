//! The rules for timers that move from one task to another.

use core::{
    pin::{Pin, pin},
    time::Duration,
};

use super::{SHORT, other_task::OtherTask, poll_once, until, watched::STUCK};
use crate::Timer;

/// Checks that a poll by another task replaces the waker: only the task that polled last must be
/// woken. `make` returns a new timer.
///
/// # Panics
///
/// Panics if the timer breaks the rule.
pub async fn latest_waker_wins<T: Timer>(make: impl Fn() -> T) {
    // The timer moves from another task to this one.
    let other = OtherTask::new();
    let mut timer = pin!(make());
    let deadline = timer.now() + SHORT;
    let _ = other.poll(timer.as_mut(), deadline);
    until(timer.as_mut(), deadline).await;

    // The timer moves from this task to another.
    let mut timer = pin!(make());
    let other = move_to_other_task(timer.as_mut()).await;
    let rule = "the latest waker wins: the task that polled last must be woken";
    woken(rule, make, &other).await;
}

/// Checks that timers which another task has armed may be dropped, and that other timers wake
/// nevertheless. `make` returns a new timer.
///
/// # Panics
///
/// Panics if another timer does not wake.
pub async fn dropped_by_other_task<T: Timer>(make: impl Fn() -> T) {
    let other = OtherTask::new();
    for micros in (0..20_000).step_by(1_000) {
        let timer = pin!(make());
        let deadline = timer.now() + Duration::from_micros(micros);
        let _ = other.poll(timer, deadline);
    }
    let mut timer = pin!(make());
    let deadline = timer.now() + SHORT * 2;
    until(timer.as_mut(), deadline).await;
}

/// Waits until the other task is woken, and panics with `rule` if it is not.
pub(super) async fn woken<T: Timer>(rule: &str, make: impl Fn() -> T, other: &OtherTask) {
    let mut clock = pin!(make());
    let mut later = clock.now() + SHORT;
    for _ in 0..STUCK.as_millis() / SHORT.as_millis() {
        until(clock.as_mut(), later).await;
        later += SHORT;
        if other.was_woken() {
            return;
        }
    }
    panic!("{rule}");
}

/// Arms a timer from this task, then for the same deadline from another task, which it returns.
pub(super) async fn move_to_other_task<T: Timer>(mut timer: Pin<&mut T>) -> OtherTask {
    let other = OtherTask::new();
    loop {
        let deadline = timer.now() + SHORT;
        let here = poll_once(timer.as_mut(), deadline).await;
        let there = other.poll(timer.as_mut(), deadline);
        if here.is_pending() && there.is_pending() {
            return other;
        }
        // The machine was too slow to arm the timer before its deadline.
        assert!(timer.now() >= deadline, "a timer is never early");
    }
}
