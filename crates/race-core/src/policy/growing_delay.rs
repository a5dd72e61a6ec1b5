use core::time::Duration;

use super::growth::{Growth, growth_options};
use crate::{Policy, observe::Cause};

/// Delays between starts that grow by a factor.
///
/// The delay grows only after starts that were due by time. It does not grow after a start that a
/// failure caused, unless [`grow_on_failure`](Self::grow_on_failure) says so. For pauses counted
/// from failures, see [`Backoff`](crate::Backoff).
///
/// ```
/// use std::time::Duration;
/// use race_core::{GrowingDelay, Policy, observe::Cause};
///
/// let ms = Duration::from_millis;
/// let mut growing = GrowingDelay::new(ms(10)).cap(ms(50));
/// let mut delay = |index, cause| growing.delay(index, cause).unwrap().as_millis();
/// assert_eq!(delay(1, Cause::First), 10);
/// assert_eq!(delay(2, Cause::Delay), 20);
/// assert_eq!(delay(3, Cause::Failure), 20);
/// assert_eq!(delay(4, Cause::Delay), 40);
/// assert_eq!(delay(5, Cause::Delay), 50);
/// ```
#[derive(Clone, Debug)]
pub struct GrowingDelay {
    growth: Growth,
    grow_on_failure: bool,
}

impl GrowingDelay {
    /// Starts with a delay of `first`, which doubles each time.
    #[must_use]
    pub fn new(first: Duration) -> Self {
        Self {
            growth: Growth::new(first),
            grow_on_failure: false,
        }
    }

    growth_options!("delay");

    /// Grows the delay after each start, whatever caused it.
    #[must_use]
    pub fn grow_on_failure(mut self) -> Self {
        self.grow_on_failure = true;
        self
    }
}

impl Policy for GrowingDelay {
    fn delay(&mut self, _: usize, cause: Cause) -> Option<Duration> {
        if cause == Cause::Delay || self.grow_on_failure && cause != Cause::First {
            self.growth.grow();
        }
        Some(self.growth.current())
    }
}
