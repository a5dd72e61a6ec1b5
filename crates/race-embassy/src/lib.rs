//! Staggered racing of async attempts on embassy: [`EmbassyTimer`], and races with that timer.
//!
//! The crate needs neither `std` nor an allocator. [`InlineRace`] keeps its attempts in place;
//! `Race` (feature `alloc`) keeps them on the heap. In both, attempts may await
//! `embassy_time::Timer` and everything else that works in a task of embassy's executor.
//!
//! ```
//! use core::{pin::pin, time::Duration};
//!
//! use embassy_time::Timer;
//! use race_embassy::InlineRace;
//!
//! # #[path = "../tests/on_mock_clock/executor.rs"] mod executor;
//! # fn main() {
//! # executor::run(async {
//! let delay = Duration::from_millis(50);
//! let race = InlineRace::<4, _>::of(delay, [100, 20, 80].map(|millis| async move {
//!     Timer::after_millis(millis).await;
//!     millis
//! }));
//! let won = race.first().await.expect("there are three attempts");
//! assert_eq!((won.index, won.output), (1, 20));
//! assert_eq!(won.elapsed, Duration::from_millis(70));
//! # });
//! # }
//! ```
//!
//! # Timer queues
//!
//! Embassy's timer queue is chosen by the binary, by features of `embassy-time`. The *default*
//! (integrated) queue keeps its entries in the tasks of embassy's executor. It panics if a timer is
//! polled with any other waker: "Found waker not created by the Embassy executor". The *generic*
//! queue (`generic-queue-8` to `-128`) takes any waker, on any executor.
//!
//! | race | default queue | generic queue |
//! | --- | --- | --- |
//! | [`InlineRace`], `Race` of this crate | works; one entry for the task | works; one entry for the task |
//! | `race_core::Race` with [`EmbassyTimer`] | panics when it has to wait | works; see below for its entries |
//!
//! The races of this crate poll all running attempts, the source and the timer with the waker of
//! the task, each time the task is woken. A `race_core::Race` has a waker for each attempt and one
//! for its timer, and polls only what was woken: prefer it where many attempts run at once and a
//! poll is expensive.
//!
//! # Size of the generic queue
//!
//! The queue has one entry for each waker that waits for time. Choose `generic-queue-N` so that `N`
//! is at least the sum of:
//!
//! - 1 for each task that waits for time, also in races of this crate;
//! - for each `race_core::Race`, the number of its running attempts that wait for time, and 2 more:
//!   for its timer, and for its first attempt, which is polled with the waker of the task until the
//!   second one starts;
//! - 1 for each such attempt that was cancelled, and 1 for the timer of a race that has ended,
//!   until the time for which they waited. The queue does not remove entries earlier.
//!
//! If the queue is full, it evicts an entry and wakes its waker. No wake is lost and no attempt is
//! late, but what was evicted registers again and evicts another entry: until a place becomes free,
//! the executor polls without a pause and the processor does not sleep.
//!
//! An entry keeps the memory of its race allocated. The last entry may be removed, and its memory
//! freed, in the interrupt handler of the time driver, so the allocator must be usable there; that
//! of `embedded-alloc` is.
//!
//! # Without a driver
//!
//! A binary links without a time driver if it polls no race on embassy's clock. So a library may
//! depend on this crate, and it may be compiled with all features, on any platform.
//!
//! # Features
//!
//! None is on by default. The crate enables no feature of embassy's crates: the binary chooses the
//! driver, the tick rate and the queue. It works with `embassy-time` 0.4 and 0.5, which share the
//! driver interface `embassy-time-driver` 0.2.
//!
//! | feature | adds |
//! | --- | --- |
//! | `alloc` | `Race`, and what `race-core` has with an allocator |
//! | `portable-atomic` | with `alloc`, on targets without compare-and-swap, such as thumbv6m |
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod ticks;
mod timer;

use core::time::Duration;

pub use race_core;
pub use timer::EmbassyTimer;

/// A race on embassy's clock that keeps up to `N` running attempts in place and needs no allocator.
///
/// See [`race_core::InlineRace`] and [`race_core::GenericRace`]. With a policy other than a
/// `Duration`, write a `_` for it: `InlineRace::<4, _, _>::of(..)`.
///
/// Its attempts, the source and the timer are polled with the waker of the task, so they work on
/// embassy's default timer queue.
pub type InlineRace<const N: usize, S, P = Duration, H = ()> =
    race_core::InlineRace<N, S, EmbassyTimer, P, H>;

/// A race on embassy's clock that keeps any number of running attempts on the heap. It is `Unpin`.
///
/// See [`race_core::GenericRace`]. Its attempts, the source and the timer are polled with the waker
/// of the task, so they work on embassy's default timer queue.
///
/// ```
/// use core::time::Duration;
///
/// use embassy_time::Timer;
/// use race_embassy::Race;
///
/// # #[path = "../tests/on_mock_clock/executor.rs"] mod executor;
/// # fn main() {
/// # executor::run(async {
/// let delay = Duration::from_millis(50);
/// let attempts = [100, 20, 80].map(|millis| async move {
///     Timer::after_millis(millis).await;
///     if millis < 100 { Ok(millis) } else { Err("too slow") }
/// });
/// let won = Race::of(delay, attempts).first_ok().await.expect("two attempts succeed");
/// assert_eq!((won.index, won.elapsed), (1, Duration::from_millis(70)));
/// # });
/// # }
/// ```
#[cfg(feature = "alloc")]
#[cfg_attr(docsrs, doc(cfg(feature = "alloc")))]
pub type Race<S, P = Duration, H = ()> =
    race_core::GenericRace<race_core::placement::OneWaker, S, EmbassyTimer, P, H>;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
