use core::time::Duration;

use super::growth::{Growth, growth_options};
use crate::{Policy, observe::Cause};

/// Pauses after failures that grow by a factor: exponential backoff.
///
/// As the policy of a race, it retries: one attempt runs at a time, and after each failure the next
/// one starts when the pause has passed. To hedge as well, give the race a delay and add the
/// backoff with `Race::backoff`.
///
/// Only result-aware finishers know failures: a race with this policy that is read with `next` ends
/// after its first attempt.
///
/// The pause counts from the failure. With jitter (`jitter`, feature `std`, or
/// [`jitter_seeded`](Self::jitter_seeded)) it is random between its half and its whole.
///
/// ```
/// use std::time::Duration;
/// use race_core::{Backoff, Race, test::VirtualClock};
///
/// let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
/// let ask = |&attempt: &u32| {
///     let latency = clock.sleep(ms(5));
///     async move {
///         latency.await;
///         if attempt < 3 { Err("busy") } else { Ok(attempt) }
///     }
/// };
/// let retries = Race::at(clock.timer()).new(Backoff::new(ms(100)).cap(ms(150)), ask, 0..);
/// let won = clock.run(retries.first_ok())??;
/// assert_eq!(won.output, 3);
/// assert_eq!(won.elapsed, ms(5 + 100 + 5 + 150 + 5 + 150 + 5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Backoff {
    growth: Growth,
}

impl Backoff {
    /// Starts with a pause of `first`, which doubles each time.
    #[must_use]
    pub fn new(first: Duration) -> Self {
        Self {
            growth: Growth::new(first),
        }
    }

    growth_options!("pause");
}

impl Policy for Backoff {
    /// Always `None`: only failures start attempts.
    fn delay(&mut self, _: usize, _: Cause) -> Option<Duration> {
        None
    }

    fn pause(&mut self, _: usize) -> Duration {
        let pause = self.growth.current();
        self.growth.grow();
        pause
    }
}

/// A policy with a backoff after failures, as `Race::backoff` makes it.
#[derive(Clone, Debug)]
pub struct WithBackoff<P> {
    policy: P,
    backoff: Backoff,
}

impl<P> WithBackoff<P> {
    pub(crate) fn new(policy: P, backoff: Backoff) -> Self {
        Self { policy, backoff }
    }
}

impl<P: Policy> Policy for WithBackoff<P> {
    fn delay(&mut self, index: usize, cause: Cause) -> Option<Duration> {
        self.policy.delay(index, cause)
    }

    fn pause(&mut self, failures: usize) -> Duration {
        self.backoff.pause(failures)
    }
}
