use serde::{Deserialize, Serialize};

use super::Record;

use super::Place;

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

impl Record<'_> for Counts {}

impl Counts {
    /// Returns whether all counts are zero.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the count that includes a task of this state.
    pub(crate) const fn of_mut(&mut self, place: Place) -> &mut u64 {
        match place {
            Place::Waiting(_) => &mut self.waiting,
            Place::Parked(_) => &mut self.parked,
            Place::Dead(_) => &mut self.dead,
        }
    }
}
