//! A hierarchical timing wheel without a clock: millions of timers, inserted, cancelled and expired in tens of
//! nanoseconds each.
//!
//! [`Wheel`] holds values until their [`Tick`] has come, and gives them in order. A [`Key`] names one, to
//! cancel or reschedule it. The wheel is pure: time comes in as an argument, so it serves a thread that
//! parks, an event loop, a simulation, or a test that jumps from deadline to deadline:
//!
//! ```
//! use race_wheel::{Tick, Wheel};
//!
//! let mut wheel = Wheel::new(1);
//! for seconds in [30, 10, 20] {
//!     wheel.insert(Tick::new(1_000 * seconds), seconds);
//! }
//! let mut order = Vec::new();
//! while let Some(deadline) = wheel.next_deadline() {
//!     // Here a driver would wait until then.
//!     order.extend(wheel.poll(deadline));
//! }
//! assert_eq!(order, [10, 20, 30]);
//! ```
//!
//! It needs an allocator, no `std`, and no other crate.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod key;
mod tick;

mod item;
mod table;

mod bucket;
mod levels;
mod queue;
mod sweep;

mod expired;
mod wheel;

#[cfg(test)]
mod cost_tests;
#[cfg(test)]
mod wheel_tests;

pub use expired::Expired;
pub use key::Key;
pub use tick::Tick;
pub use wheel::Wheel;

use item::Item;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
