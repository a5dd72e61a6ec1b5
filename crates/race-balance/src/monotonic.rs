use std::time::Instant;

use race_core::{Moment, observe::Clock};

/// The clock of the standard library, for a [`Balance`](crate::Balance) outside of tests.
#[derive(Clone, Copy, Debug)]
pub struct Monotonic {
    epoch: Instant,
}

impl Monotonic {
    /// Creates a clock whose epoch is now.
    #[must_use]
    pub fn new() -> Self {
        Self {
            epoch: Instant::now(),
        }
    }
}

impl Default for Monotonic {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for Monotonic {
    fn read(&self) -> Moment {
        self.epoch.elapsed().into()
    }
}
