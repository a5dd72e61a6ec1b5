use serde::{Deserialize, Serialize};

/// How many tasks a route has on disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// For a time, or in flight.
    pub waiting: u64,
    /// Due, with nobody to take them.
    pub parked: u64,
    /// Dead letters.
    pub dead: u64,
}

impl Counts {
    /// Whether there is nothing to count.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
