//! Staggered racing of async attempts on async-io: [`AsyncIoTimer`], and [`Race`] with that timer.
//!
//! async-io drives its timers on a background thread, so a race works on any executor, such as
//! those of smol and async-std.
//!
//! ```
//! use std::time::Duration;
//!
//! # async_io::block_on(async {
//! let delay = Duration::from_millis(50);
//! let race = race_async_io::Race::of(delay, [100, 20, 80].map(|millis| async move {
//!     async_io::Timer::after(Duration::from_millis(millis)).await;
//!     millis
//! }));
//! let won = race.first().await.expect("there are three attempts");
//! println!("#{} won after {:?}", won.index, won.elapsed); // #1 won after 70 ms
//! # });
//! ```

mod timer;

pub use race_core;
pub use timer::AsyncIoTimer;

/// A race on async-io's clock. [`race_core::GenericRace`] documents it.
pub type Race<S, P = std::time::Duration, H = ()> = race_core::Race<S, AsyncIoTimer, P, H>;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
