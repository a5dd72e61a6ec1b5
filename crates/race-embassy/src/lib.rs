//! Staggered racing of async attempts on embassy: [`EmbassyTimer`], and races with that timer.
//!
//! The crate needs neither `std` nor an allocator.
//!
//! # Queues
//!
//! Embassy's default timer queue panics on wakers that are not those of its executor's tasks.
//! [`InlineRace`] polls its attempts and its timer with the waker of the task, so both may wait for
//! time on any queue.
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod ticks;
mod timer;

use core::time::Duration;

pub use race_core;
pub use timer::EmbassyTimer;

/// A race on embassy's clock that keeps up to `N` running attempts in place and needs no allocator.
///
/// See [`race_core::InlineRace`].
pub type InlineRace<const N: usize, S, P = Duration, H = ()> =
    race_core::InlineRace<N, S, EmbassyTimer, P, H>;
