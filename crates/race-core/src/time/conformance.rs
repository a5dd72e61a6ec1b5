//! Checks for the contract of [`Timer`], to be called from the tests of a timer.
//!
//! | check | what it proves |
//! | --- | --- |
//! | [`timer`] | each rule of the contract, by all checks below but `clones` and `fairness` |
//! | [`never_early`], [`many_at_once`] | `Ready` only when the deadline has passed |
//! | [`level_triggered`] | a deadline that has passed stays passed |
//! | [`never_is_never`] | `Moment::NEVER` and far deadlines stay pending |
//! | [`moved_deadline`] | a new deadline replaces the previous one |
//! | [`disarmed`], [`dropped_while_armed`] | a timer can be cancelled at any time |
//! | [`latest_waker_wins`], [`dropped_by_other_task`] | a new waker replaces the previous one |
//! | [`clones`](fn@clones) | a clone is a fresh, independent timer on the same clock |
//! | `fairness` (feature `alloc`) | neither the timer nor an attempt starves the other |
//!
//! Call them where the timer works, such as inside its runtime. On a real clock they sleep for
//! about a second in total. A timer may be late, but one that has not woken after ten seconds fails
//! the check. Only the feature `test-util` measures that, with a thread; without it, and in
//! browsers, a timer that does not wake lets the check wait forever, so run it under a time limit.
//!
//! The checks work without `std` and without an allocator. `latest_waker_wins`,
//! `dropped_by_other_task` and `clones` poll the timer with the waker of another task; leave them
//! out where a timer accepts only the waker of its own executor. Without the feature `alloc`, and
//! on targets without compare-and-swap, the other tasks of these three are a small pool of statics,
//! so run one check at a time.
//!
#![cfg_attr(feature = "test-util", doc = "```")]
#![cfg_attr(not(feature = "test-util"), doc = "```ignore")]
//! use race_core::test::{VirtualClock, conformance};
//!
//! let clock = VirtualClock::new();
//! clock.run(conformance::timer(|| clock.timer()))?;
//! clock.run(conformance::clones(|| clock.timer()))?;
//! # Ok::<(), race_core::test::Deadlock>(())
//! ```

mod clones;
#[cfg(feature = "alloc")]
mod fairness;
mod other_task;
mod rules;
mod wakers;
mod watched;

use core::{
    future::poll_fn,
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use watched::watched;

use crate::{Moment, Timer};

pub use clones::clones;
#[cfg(feature = "alloc")]
#[cfg_attr(docsrs, doc(cfg(feature = "alloc")))]
pub use fairness::fairness;
pub use rules::{
    disarmed, dropped_while_armed, level_triggered, many_at_once, moved_deadline, never_early,
    never_is_never,
};
pub use wakers::{dropped_by_other_task, latest_waker_wins};

const SHORT: Duration = Duration::from_millis(20);
const HOUR: Duration = Duration::from_secs(3_600);

/// Checks each rule of the contract of [`Timer`]. `make` returns a new timer.
///
/// # Panics
///
/// Panics if the timer breaks a rule; the message names the rule.
pub async fn timer<T: Timer>(make: impl Fn() -> T) {
    never_early(&make).await;
    many_at_once(&make).await;
    level_triggered(&make).await;
    never_is_never(&make).await;
    latest_waker_wins(&make).await;
    moved_deadline(&make).await;
    disarmed(&make).await;
    dropped_while_armed(&make).await;
    dropped_by_other_task(&make).await;
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

#[cfg(all(test, feature = "test-util"))]
mod tests;
