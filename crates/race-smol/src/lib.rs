//! Staggered racing on smol: [`SmolTimer`], and [`Race`] with that timer.
//!
//! smol's timer *is* async-io's (`smol::Timer` is a re-export), and so is this one: `SmolTimer` is
//! [`AsyncIoTimer`](race_async_io::AsyncIoTimer) under the name that smol's users look for.
//!
//! ```
//! use std::time::Duration;
//!
//! # smol::block_on(async {
//! let step = Duration::from_millis(50);
//! let race = race_smol::Race::of(step, [100, 20, 80].map(|millis| async move {
//!     smol::Timer::after(Duration::from_millis(millis)).await;
//!     millis
//! }));
//! let won = race.first().await.expect("there are three");
//! # assert_ne!(won.place, 2);
//! # });
//! ```

pub use race_async_io::AsyncIoTimer as SmolTimer;
pub use race_core;

/// A race on smol's clock. See [`race_core::Race`].
pub type Race<S, P = race_core::Fixed> = race_core::Race<S, SmolTimer, P>;
