//! Staggered racing on async-io: [`AsyncIoTimer`], and [`Race`] with that timer.
//!
//! async-io's timers run on a thread of their own, so they work on any executor, among them those of
//! smol and async-std.
//!
//! ```
//! use std::time::Duration;
//!
//! # async_io::block_on(async {
//! let step = Duration::from_millis(50);
//! let race = race_async_io::Race::of(step, [100, 20, 80].map(|millis| async move {
//!     async_io::Timer::after(Duration::from_millis(millis)).await;
//!     millis
//! }));
//! let won = race.first().await.expect("there are three");
//! # assert_ne!(won.place, 2);
//! # });
//! ```

mod timer;

pub use race_core;
pub use timer::AsyncIoTimer;

/// A race on async-io's clock. See [`race_core::Race`].
pub type Race<S, P = race_core::Fixed> = race_core::Race<S, AsyncIoTimer, P>;
