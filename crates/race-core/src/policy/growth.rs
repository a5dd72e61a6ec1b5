use core::time::Duration;

use fastrand::Rng;

/// Durations that grow by a factor up to a cap, with optional jitter.
#[derive(Clone, Debug)]
pub(super) struct Growth {
    next: Duration,
    pub(super) factor: u32,
    pub(super) cap: Duration,
    pub(super) jitter: Option<Jitter>,
}

/// The random numbers of the jitter.
#[derive(Debug)]
pub(super) enum Jitter {
    /// A clone gets a new seed: each request has a clone of one policy.
    #[cfg(feature = "std")]
    Random(Rng),
    /// A clone is a copy.
    Seeded(Rng),
}

impl Jitter {
    fn rng(&mut self) -> &mut Rng {
        match self {
            #[cfg(feature = "std")]
            Self::Random(rng) => rng,
            Self::Seeded(rng) => rng,
        }
    }
}

impl Clone for Jitter {
    fn clone(&self) -> Self {
        match self {
            #[cfg(feature = "std")]
            Self::Random(_) => Self::Random(Rng::new()),
            Self::Seeded(rng) => Self::Seeded(rng.clone()),
        }
    }
}

impl Growth {
    pub(super) fn new(first: Duration) -> Self {
        Self {
            next: first,
            factor: 2,
            cap: Duration::MAX,
            jitter: None,
        }
    }

    /// Returns the current duration, with jitter.
    pub(super) fn current(&mut self) -> Duration {
        let current = self.next.min(self.cap);
        let Some(jitter) = &mut self.jitter else {
            return current;
        };
        let nanos = u64::try_from(current.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(jitter.rng().u64(nanos / 2..=nanos))
    }

    pub(super) fn grow(&mut self) {
        self.next = self.next.min(self.cap).saturating_mul(self.factor);
    }
}

/// The builder methods that [`GrowingDelay`](super::GrowingDelay) and [`Backoff`](super::Backoff)
/// share.
macro_rules! growth_options {
    ($what:literal) => {
        #[doc = concat!("Multiplies the ", $what, " by `factor` each time. Default: 2. With 0 or 1 it stays the same.")]
        #[must_use]
        pub fn factor(mut self, factor: u32) -> Self {
            self.growth.factor = factor.max(1);
            self
        }

        #[doc = concat!("Limits the ", $what, ". Default: no limit.")]
        #[must_use]
        pub fn cap(mut self, cap: Duration) -> Self {
            self.growth.cap = cap;
            self
        }

        #[doc = concat!("Draws each ", $what, " evenly between its half and its whole, with a random seed, so that")]
        /// clients that fail together do not retry together.
        ///
        /// A clone gets a new random seed, so requests that each clone one policy, such as those of
        /// a tower layer, do not retry together either.
        ///
        /// This is "equal jitter" in Marc Brooker, *Exponential Backoff and Jitter*, AWS
        /// Architecture Blog, 2015. Without `std`, see [`jitter_seeded`](Self::jitter_seeded).
        #[cfg(feature = "std")]
        #[cfg_attr(docsrs, doc(cfg(feature = "std")))]
        #[must_use]
        pub fn jitter(mut self) -> Self {
            self.growth.jitter = Some($crate::policy::growth::Jitter::Random(fastrand::Rng::new()));
            self
        }

        /// Like `jitter` (feature `std`), with a seed of your own. The same seed gives the same
        /// durations.
        ///
        /// A clone is a copy: it continues with the same durations as the original. So requests
        /// that each clone one policy, such as those of a tower layer, all have the same jitter and
        /// retry together.
        #[must_use]
        pub fn jitter_seeded(mut self, seed: u64) -> Self {
            self.growth.jitter = Some($crate::policy::growth::Jitter::Seeded(fastrand::Rng::with_seed(seed)));
            self
        }
    };
}

pub(super) use growth_options;

#[cfg(test)]
mod tests;
