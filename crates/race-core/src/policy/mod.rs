//! When attempts start: delays, pauses after failures, gates and budgets.

mod backoff;
mod gate;
mod growing_delay;
mod growth;
mod hook;
mod into_policy;
mod resumed;
mod steps;

#[cfg(feature = "adaptive")]
pub(crate) mod adaptive;
#[cfg(feature = "alloc")]
mod budget;

use core::time::Duration;

use crate::observe::Cause;

pub use backoff::{Backoff, WithBackoff};
pub use gate::{Gate, Permit, RaceState};
pub use growing_delay::GrowingDelay;
#[doc(hidden)]
pub use hook::Hook;
pub use into_policy::IntoPolicy;
pub use resumed::Resumed;
pub use steps::Steps;

#[cfg(feature = "alloc")]
#[cfg_attr(docsrs, doc(cfg(feature = "alloc")))]
pub use budget::{Budget, Charge, IntoBudget};

/// Decides when attempts start: the delay before each, and the pause after a failure.
///
/// A [`Duration`] is a policy: the same delay before each attempt. [`Steps`] is a list of delays,
/// [`GrowingDelay`] grows, [`Backoff`] pauses after failures, `&Adaptive` learns, and any
/// `FnMut(usize) -> Option<Duration>` is a policy too: it maps the index of an attempt to the delay
/// before it.
pub trait Policy {
    /// Returns the delay between the start of attempt `index - 1` and attempt `index`.
    ///
    /// Called once for each index from 1 on, when attempt `index - 1` starts; `cause` tells why
    /// attempt `index - 1` started; it is `Delay` for a start by its delay, whether or not another
    /// attempt was running. Not called if `max_attempts` leaves no further start. Zero starts the
    /// attempt at once. `None` starts it only when a failure calls for it; so does a delay longer
    /// than about 584 years.
    fn delay(&mut self, index: usize, cause: Cause) -> Option<Duration>;

    /// Returns the pause between a failure and the attempt that it starts; `failures` counts the
    /// failures of the race, this one included.
    ///
    /// Called by the first failure after a start that makes the next attempt due. Further failures
    /// before that attempt starts pause as long.
    ///
    /// Default: zero, which starts the attempt at once.
    fn pause(&mut self, failures: usize) -> Duration {
        let _ = failures;
        Duration::ZERO
    }
}

/// The same delay before each attempt.
impl Policy for Duration {
    #[inline]
    fn delay(&mut self, _: usize, _: Cause) -> Option<Duration> {
        Some(*self)
    }
}

impl<F: FnMut(usize) -> Option<Duration>> Policy for F {
    #[inline]
    fn delay(&mut self, index: usize, _: Cause) -> Option<Duration> {
        self(index)
    }
}
