use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Name, Record, encode, key};
use crate::Bytes;

/// The id of a task in the index of retrying tasks. Its key has the route, the due time and the
/// sequence number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryingEntry<'a> {
    /// The id of the task.
    pub id: &'a str,
}

impl<'a> Record<'a> for RetryingEntry<'a> {}

/// Number of retrying tasks by route. The empty route has the sum, as in the store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetryingCounts {
    /// None is zero.
    counts: BTreeMap<Box<str>, u64>,
}

impl RetryingCounts {
    /// Adds a task if it is retrying.
    pub fn add(&mut self, route: &str, name: &Name) {
        if name.is_retrying() {
            self.add_row(route);
        }
    }

    /// Adds a row of the index.
    pub fn add_row(&mut self, route: &str) {
        for route in [route, ""] {
            *self.counts.entry(route.into()).or_default() += 1;
        }
    }

    /// Removes a task that was added, if it is retrying.
    pub fn remove(&mut self, route: &str, name: &Name) {
        if !name.is_retrying() {
            return;
        }
        for route in [route, ""] {
            let count = self.counts.get(route).copied().unwrap_or_default();
            self.set(route, count.saturating_sub(1));
        }
    }

    /// Sets the number of a route, or the sum.
    pub fn set(&mut self, route: &str, count: u64) {
        match count {
            0 => self.counts.remove(route),
            count => self.counts.insert(route.into(), count),
        };
    }

    /// Returns the number of a route, or the sum.
    #[must_use]
    pub fn of(&self, route: &str) -> u64 {
        self.counts.get(route).copied().unwrap_or_default()
    }

    /// Returns the sum and the number of each route that has one, in order of route.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.counts.iter().map(|(route, count)| (&**route, *count))
    }

    /// Takes the numbers of the routes, and returns their rows in `meta`. The sum stays.
    pub fn take_routes(&mut self) -> impl Iterator<Item = (Bytes, Bytes)> + use<> {
        let sum = self.counts.remove_entry("");
        let routes = std::mem::replace(&mut self.counts, sum.into_iter().collect());
        Self { counts: routes }.into_rows()
    }

    /// Returns the rows in `meta`.
    pub fn into_rows(self) -> impl Iterator<Item = (Bytes, Bytes)> + use<> {
        let counts = self.counts.into_iter();
        counts.map(|(route, count)| (key::retrying_count(&route), encode(&count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Place;
    use hyper_delay_protocol::{FailureKind, LastFailure};

    fn name(place: Place, has_failed: bool) -> Name {
        let failure = LastFailure {
            at: 1,
            kind: FailureKind::Nack,
            reason: None,
        };
        Name {
            seq: 1,
            fire_at: 2,
            place,
            attempt: 3,
            failures: 4,
            digest: [5; 16],
            bytes: 6,
            terms: None,
            failure: has_failed.then(|| Box::new(failure)),
        }
    }

    #[test]
    fn retrying_tasks_are_counted_by_route_and_none_else() {
        let mut counts = RetryingCounts::default();
        let retrying = name(Place::Parked(9), true);
        for route in ["a", "b", "a"] {
            counts.add(route, &retrying);
            counts.add(route, &name(Place::Dead(9), true));
            counts.add(route, &name(Place::Waiting(9), false));
        }
        let all: Vec<_> = counts.iter().collect();
        assert_eq!(all, [("", 3), ("a", 2), ("b", 1)]);
        counts.remove("b", &name(Place::Dead(9), true));
        counts.remove("b", &retrying);
        assert_eq!(["", "a", "b"].map(|route| counts.of(route)), [2, 2, 0]);
        let mut stored = RetryingCounts::default();
        for (route, count) in [("", 2), ("b", 0), ("a", 2)] {
            stored.set(route, count);
        }
        assert_eq!(counts, stored, "a route without one has no number");
    }

    #[test]
    fn the_sum_stays_when_the_routes_are_taken() {
        let row = |route: &str, count: u64| (key::retrying_count(route), encode(&count));
        let mut counts = RetryingCounts::default();
        counts.add_row("a");
        assert!(counts.take_routes().eq([row("a", 1)]));
        counts.add_row("b");
        counts.add_row("b");
        assert!(counts.take_routes().eq([row("b", 2)]));
        assert!(counts.into_rows().eq([row("", 3)]));
    }
}
