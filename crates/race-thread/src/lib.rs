//! Staggered racing on any executor: [`ThreadTimer`], and [`Race`] with that timer.
//!
//! One background thread drives all timers of the process. The first timer that has to wait starts
//! it, and it sleeps until the next deadline. So races and [`sleep`] work on any executor:
//! `futures::executor`, `pollster`, or your own.
//!
//! ```
//! use std::time::Duration;
//!
//! let delay = Duration::from_millis(5);
//! let race = race_thread::Race::of(delay, [5_000, 2, 4_000].map(|millis| async move {
//!     race_thread::sleep(Duration::from_millis(millis)).await;
//!     millis
//! }));
//! let won = pollster::block_on(race.first()).expect("there are three");
//! assert_eq!((won.index, won.output), (1, 2));
//! ```

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
compile_error!(
    "`race-thread` needs a thread, which this target cannot start: use `race-web` in browsers, \
     workers and Node (in the `race` crate: the feature `web`), or a `Timer` of your own"
);

mod clock;
mod driver;
mod sync;

mod delay;
mod timer;

pub use delay::{Delay, sleep, sleep_until};
pub use race_core;
pub use timer::ThreadTimer;

/// A race on a thread's clock. See [`race_core::Race`].
pub type Race<S, P = std::time::Duration, H = ()> = race_core::Race<S, ThreadTimer, P, H>;
