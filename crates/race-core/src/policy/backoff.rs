use core::time::Duration;

use fastrand::Rng;

use crate::Policy;

/// Steps that grow by a factor, up to a cap, and with some randomness if wished.
///
/// ```
/// use std::time::Duration;
/// use race_core::{Backoff, Policy};
///
/// let ms = Duration::from_millis;
/// let mut backoff = Backoff::new(ms(10)).cap(ms(50));
/// let millis = [1, 2, 3, 4, 5].map(|place| backoff.step(place).unwrap().as_millis());
/// assert_eq!(millis, [10, 20, 40, 50, 50]);
/// ```
#[derive(Clone, Debug)]
pub struct Backoff {
    next: Duration,
    factor: u32,
    cap: Duration,
    jitter: Option<Rng>,
}

impl Backoff {
    /// Starts with a step of `first`, which doubles each time.
    #[must_use]
    pub fn new(first: Duration) -> Self {
        Self {
            next: first,
            factor: 2,
            cap: Duration::MAX,
            jitter: None,
        }
    }

    /// Each step is `factor` times the one before it; 1 keeps it as it is, and so does 0.
    #[must_use]
    pub fn factor(mut self, factor: u32) -> Self {
        self.factor = factor.max(1);
        self
    }

    /// No step is longer.
    #[must_use]
    pub fn cap(mut self, cap: Duration) -> Self {
        self.cap = cap;
        self
    }

    /// Each step is somewhere between its half and its whole, evenly, so that many who began together do
    /// not go on together. ("Equal jitter", as Marc Brooker's *Exponential Backoff and Jitter* has it,
    /// AWS Architecture Blog, 2015.) The same seed gives the same steps.
    #[must_use]
    pub fn jitter(mut self, seed: u64) -> Self {
        self.jitter = Some(Rng::with_seed(seed));
        self
    }
}

impl Policy for Backoff {
    fn step(&mut self, _: usize) -> Option<Duration> {
        let step = self.next.min(self.cap);
        self.next = step.saturating_mul(self.factor);
        let Some(rng) = &mut self.jitter else {
            return Some(step);
        };
        let nanos = u64::try_from(step.as_nanos()).unwrap_or(u64::MAX);
        Some(Duration::from_nanos(rng.u64(nanos / 2..=nanos)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(backoff: Backoff) -> [u128; 6] {
        let mut backoff = backoff;
        [1, 2, 3, 4, 5, 6].map(|place| {
            let step = backoff.step(place);
            step.expect("a backoff always goes on").as_millis()
        })
    }

    #[test]
    fn the_first_step_too_is_capped() {
        let backoff = Backoff::new(Duration::from_millis(100)).cap(Duration::from_millis(7));
        assert_eq!(millis(backoff), [7; 6]);
    }

    #[test]
    fn a_factor_of_none_or_one_keeps_the_step() {
        for factor in [0, 1] {
            let backoff = Backoff::new(Duration::from_millis(3)).factor(factor);
            assert_eq!(millis(backoff), [3; 6]);
        }
    }

    #[test]
    fn steps_without_bounds_saturate() {
        let mut backoff = Backoff::new(Duration::MAX).factor(u32::MAX).jitter(1);
        for place in 1..100 {
            let step = backoff.step(place).expect("a backoff always goes on");
            assert!(step >= Duration::from_nanos(u64::MAX / 2));
        }
        let mut backoff = Backoff::new(Duration::ZERO).jitter(1);
        assert_eq!(backoff.step(1), Some(Duration::ZERO));
    }

    #[test]
    fn jitter_stays_between_the_half_and_the_whole_and_repeats_with_its_seed() {
        let backoff = || Backoff::new(Duration::from_millis(100)).factor(1);
        let first = millis(backoff().jitter(7));
        assert!(first.iter().all(|step| (50..=100).contains(step)));
        assert!(first.iter().any(|step| *step != first[0]));
        assert_eq!(first, millis(backoff().jitter(7)));
        assert_ne!(first, millis(backoff().jitter(8)));
    }
}
