use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use hyper_delay_store::record::StoredCounts;

/// Keeps the routes with the largest sizes; of equal ones, the first by name.
#[derive(Debug)]
pub(super) struct LargestRoutes {
    most: usize,
    largest: BTreeMap<(u64, Reverse<Arc<str>>), StoredCounts>,
}

impl LargestRoutes {
    /// Keeps at most `most` routes.
    pub(super) const fn new(most: usize) -> Self {
        Self {
            most,
            largest: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, size: u64, route: &str, counts: StoredCounts) {
        let is_full = self.largest.len() == self.most;
        let least = self.largest.first_key_value();
        if is_full
            && least.is_some_and(|((least, Reverse(name)), _)| {
                (*least, Reverse(&**name)) > (size, Reverse(route))
            })
        {
            return;
        }
        self.largest.insert((size, Reverse(route.into())), counts);
        if self.largest.len() > self.most {
            self.largest.pop_first();
        }
    }

    /// Returns the routes, the smallest first.
    pub(super) fn routes(&self) -> impl Iterator<Item = (&Arc<str>, &StoredCounts)> {
        let largest = self.largest.iter();
        largest.map(|((_, Reverse(route)), counts)| (route, counts))
    }

    /// Returns the same routes by value.
    pub(super) fn into_routes(self) -> impl Iterator<Item = (Arc<str>, StoredCounts)> {
        let largest = self.largest.into_iter();
        largest.map(|((_, Reverse(route)), counts)| (route, counts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn largest(most: usize, sizes: &[(u64, &str)]) -> Vec<String> {
        let mut top = LargestRoutes::new(most);
        for (size, route) in sizes {
            top.add(*size, route, StoredCounts::default());
        }
        let largest = top.into_routes();
        largest.map(|(route, _)| route.to_string()).collect()
    }

    #[test]
    fn the_largest_are_kept_in_whatever_order_they_come() {
        let sizes = [(3, "c"), (1, "a"), (5, "e"), (2, "b"), (4, "d")];
        assert_eq!(largest(2, &sizes), ["d", "e"]);
        assert_eq!(largest(9, &sizes), ["a", "b", "c", "d", "e"]);
        assert_eq!(largest(0, &sizes), [""; 0]);
    }

    #[test]
    fn of_equal_routes_the_first_by_name_are_kept() {
        let sizes = [(1, "b"), (1, "a"), (1, "c")];
        assert_eq!(largest(2, &sizes), ["b", "a"]);
    }
}
