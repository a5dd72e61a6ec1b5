//! Staggered racing of async attempts on smol: [`SmolTimer`], and [`Race`] with that timer.
//!
//! `SmolTimer` is [`AsyncIoTimer`](race_async_io::AsyncIoTimer) under another name, as
//! `smol::Timer` is the timer of async-io.
//!
//! ```
//! use std::time::Duration;
//!
//! # smol::block_on(async {
//! let delay = Duration::from_millis(50);
//! let race = race_smol::Race::of(delay, [100, 20, 80].map(|millis| async move {
//!     smol::Timer::after(Duration::from_millis(millis)).await;
//!     millis
//! }));
//! let won = race.first().await.expect("there are three attempts");
//! println!("#{} won after {:?}", won.index, won.elapsed); // #1 won after 70 ms
//! # });
//! ```

pub use race_async_io::AsyncIoTimer as SmolTimer;
pub use race_core;

/// A race on smol's clock. [`race_core::GenericRace`] documents it.
pub type Race<S, P = std::time::Duration, H = ()> = race_core::Race<S, SmolTimer, P, H>;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
