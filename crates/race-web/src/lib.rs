//! Staggered racing of async attempts in browsers, web workers and Node: [`WebTimer`], and [`Race`]
//! with that timer.
//!
//! For `wasm32-unknown-unknown` with `wasm-bindgen`. The timer uses `setTimeout` and
//! `performance.now()` of the global scope, so it needs no `window`.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! # async fn run() {
//! let delay = Duration::from_millis(50);
//! let race = race_web::Race::of(delay, [100, 20, 80].map(|millis| async move {
//!     race_web::sleep(Duration::from_millis(millis)).await;
//!     millis
//! }));
//! let won = race.first().await.expect("there are three attempts");
//! assert_eq!((won.index, won.output), (1, 20));
//! # }
//! ```
//!
//! # Other targets
//!
//! The crate compiles on every target, so that documentation and builds with all features work.
//! There, [`WebTimer`] panics when it reads the clock or waits.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod alarm;
mod delay;
mod timer;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod global;
#[cfg(all(test, not(target_family = "wasm")))]
#[path = "global/simulated.rs"]
mod global;
#[cfg(not(any(test, all(target_family = "wasm", target_os = "unknown"))))]
#[path = "global/missing.rs"]
mod global;

pub use delay::{Delay, sleep};
pub use race_core;
pub use timer::WebTimer;

/// A race on the clock of a web page, a worker or Node. [`race_core::GenericRace`] documents it.
pub type Race<S, P = core::time::Duration, H = ()> = race_core::Race<S, WebTimer, P, H>;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
