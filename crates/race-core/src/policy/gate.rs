use core::{fmt, time::Duration};

use super::{Policy, Standing, Suppressed};
use crate::What;

/// A policy with a gate, as `Race::gate` makes it.
#[derive(Clone)]
pub struct Gated<P, G> {
    policy: P,
    gate: G,
}

impl<P, G: FnMut(&Standing<'_>) -> bool> Gated<P, G> {
    /// Before each start but the first `gate` is asked, with what is known of the race: go, or stop?
    ///
    /// Each part can be used alone: this, with [`Stagger`](crate::Stagger).
    pub fn new(policy: P, gate: G) -> Self {
        Self { policy, gate }
    }
}

impl<P: Policy, G: FnMut(&Standing<'_>) -> bool> Policy for Gated<P, G> {
    fn step(&mut self, place: usize) -> Option<Duration> {
        self.policy.step(place)
    }

    fn admit(&mut self, standing: &Standing<'_>) -> Result<(), Suppressed> {
        // Before what is inside, so that nothing is taken from a budget in vain.
        match (self.gate)(standing) {
            true => self.policy.admit(standing),
            false => Err(Suppressed::Gate),
        }
    }

    fn note(&mut self, place: usize, what: What) {
        self.policy.note(place, what);
    }
}

impl<P: fmt::Debug, G> fmt::Debug for Gated<P, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gated")
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
