//! Staggered racing on tokio: [`TokioTimer`], and [`Race`] with that timer.
//!
//! ```
//! use std::time::Duration;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
//! let step = Duration::from_millis(50);
//! let race = race_tokio::Race::of(step, [100, 20, 80].map(|millis| async move {
//!     tokio::time::sleep(Duration::from_millis(millis)).await;
//!     millis
//! }));
//! let won = race.first().await.expect("there are three");
//! assert_eq!((won.place, won.output), (1, 20));
//! # }
//! ```
//!
//! Under tokio's paused clock (`tokio::time::pause`) races run in virtual time too.

mod timer;

pub use race_core;
pub use timer::TokioTimer;

/// A race on tokio's clock. See [`race_core::Race`].
pub type Race<S, P = race_core::Fixed> = race_core::Race<S, TokioTimer, P>;
