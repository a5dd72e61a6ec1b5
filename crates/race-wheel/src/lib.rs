//! A hierarchical timing wheel without a clock, for `no_std` with an allocator.
//!
//! [`Wheel`] holds values until their deadlines, which are [`Tick`]s, and returns them in order. A [`Key`]
//! identifies a timer, to cancel or reschedule it. Time is an argument, so the same wheel serves a
//! thread that parks, an event loop, a simulation, or a test that jumps from deadline to deadline:
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
//!     // A driver would wait for `deadline` here.
//!     order.extend(wheel.poll(deadline));
//! }
//! assert_eq!(order, [10, 20, 30]);
//! ```
//!
//! The crate has no dependencies and no `unsafe` code.

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
mod past;
mod queue;
mod sweep;

mod expired;
mod wheel;

pub use expired::Expired;
pub use key::Key;
pub use tick::Tick;
pub use wheel::Wheel;

use item::Item;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
