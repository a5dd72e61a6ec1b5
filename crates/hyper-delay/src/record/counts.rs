use serde::{Deserialize, Serialize};

/// Number of stored tasks of a route, by state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Waiting for their time, or in flight.
    pub waiting: u64,
    /// Due, and without a consumer.
    pub parked: u64,
    /// Dead letters.
    pub dead: u64,
}

impl Counts {
    /// Returns whether all counts are zero.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
