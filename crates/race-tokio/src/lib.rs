//! Staggered racing of async attempts on tokio: [`TokioTimer`], and [`Race`] with that timer.
//!
//! ```
//! use std::time::Duration;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
//! let delay = Duration::from_millis(50);
//! let race = race_tokio::Race::of(delay, [100, 20, 80].map(|millis| async move {
//!     tokio::time::sleep(Duration::from_millis(millis)).await;
//!     millis
//! }));
//! let won = race.first().await.expect("there are three attempts");
//! assert_eq!((won.index, won.output), (1, 20));
//! # }
//! ```
//!
//! On a paused clock (`tokio::time::pause`) a race runs in virtual time. Poll a race inside a tokio
//! runtime with time enabled; otherwise polling panics once the race has to wait.

mod timer;

pub use race_core;
pub use timer::TokioTimer;

/// A race on tokio's clock. [`race_core::GenericRace`] documents it.
pub type Race<S, P = std::time::Duration, H = ()> = race_core::Race<S, TokioTimer, P, H>;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
