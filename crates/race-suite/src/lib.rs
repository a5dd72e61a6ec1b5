//! The conformance suite and the timelines of races, written once and run on every target.
//!
//! A target implements [`Target`]: a timer, a way to sleep, and two facts about its clock and its
//! wakers. [`run`] then runs every check that applies there, one after another, in the task that
//! awaits it.
//!
//! ```
//! use std::time::Duration;
//! use race_core::test::{VirtualClock, VirtualSleep, VirtualTimer};
//! use race_suite::{ClockKind, Target, WakerKind};
//!
//! struct Virtual(VirtualClock);
//!
//! impl Target for Virtual {
//!     type Timer = VirtualTimer;
//!     type Sleep = VirtualSleep;
//!     const CLOCK: ClockKind = ClockKind::Exact;
//!     const WAKERS: WakerKind = WakerKind::Any;
//!
//!     fn timer(&self) -> VirtualTimer {
//!         self.0.timer()
//!     }
//!
//!     fn sleep(&self, duration: Duration) -> VirtualSleep {
//!         self.0.sleep(duration)
//!     }
//! }
//!
//! let target = Virtual(VirtualClock::new());
//! let passed = target.0.run(race_suite::run(&target, &mut |name| println!("{name}")))?;
//! println!("{passed} passed");
//! # Ok::<(), race_core::test::Deadlock>(())
//! ```
//!
//! | module | checks |
//! | --- | --- |
//! | `timer` | the contract of the timer |
//! | `starts` | when attempts start |
//! | `limits` | room, `max_in_flight`, `max_attempts`, gates |
//! | `timeouts` | attempt timeouts and the deadline |
//! | `catch_up` | starts that were missed; exact clocks only |
//! | `ends` | winners, order, cancellation, the end of the stream |
//! | `failures` | result-aware finishers |
//! | `one_waker` | races on the heap, with the waker of the task; needs the feature `alloc` |
//! | `heap` | races on the heap; needs the feature `alloc` and wakers of any kind |

#![no_std]

#[cfg(feature = "alloc")]
extern crate alloc;

mod attempt;
mod check;
mod suite;
mod target;

mod timer;

mod starts;

mod limits;

mod timeouts;

mod catch_up;

mod ends;

mod failures;

#[cfg(feature = "alloc")]
mod heap;
#[cfg(feature = "alloc")]
mod one_waker;

pub use target::{ClockKind, Target, WakerKind};

use suite::Suite;

/// Runs every check that applies to `target`, and returns how many passed. `report` receives the
/// name of each check that passed.
///
/// # Panics
///
/// Panics if a check fails; the message begins with the name of the check, or names the rule of the
/// timer that is broken. A timer that does not wake makes the suite wait forever: run it under a
/// time limit.
pub async fn run<X: Target>(target: &X, report: &mut dyn FnMut(&'static str)) -> usize {
    let mut suite = Suite::new(target, report);
    timer::run(&mut suite).await;
    starts::run(&mut suite).await;
    limits::run(&mut suite).await;
    timeouts::run(&mut suite).await;
    if X::CLOCK == ClockKind::Exact {
        catch_up::run(&mut suite).await;
    }
    ends::run(&mut suite).await;
    failures::run(&mut suite).await;
    #[cfg(feature = "alloc")]
    one_waker::run(&mut suite).await;
    #[cfg(feature = "alloc")]
    if X::WAKERS == WakerKind::Any {
        heap::run(&mut suite).await;
    }
    suite.passed()
}
