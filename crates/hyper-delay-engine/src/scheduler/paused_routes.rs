use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

/// The routes that are paused, and those that will be: none of their tasks are delivered.
#[derive(Debug, Default)]
pub(super) struct PausedRoutes {
    /// Paused on disk.
    paused: FxHashSet<Arc<str>>,
    /// The number of pauses of each route that are on their way to the disk.
    pausing: FxHashMap<Arc<str>, usize>,
}

impl PausedRoutes {
    /// These routes are paused on disk.
    pub(super) fn new(paused: FxHashSet<Arc<str>>) -> Self {
        Self {
            paused,
            pausing: FxHashMap::default(),
        }
    }

    /// Whether a route is paused on disk.
    #[inline]
    pub(super) fn contains(&self, route: &str) -> bool {
        !self.paused.is_empty() && self.paused.contains(route)
    }

    /// The routes that are paused on disk.
    pub(super) const fn on_disk(&self) -> &FxHashSet<Arc<str>> {
        &self.paused
    }

    /// Whether a route may be paused: it is already, or will be, or fewer than `most` others are or
    /// will be.
    pub(super) fn may_pause(&self, route: &str, most: usize) -> bool {
        self.contains(route) || self.pausing.contains_key(route) || self.len() < most
    }

    /// The number of routes that are paused or will be.
    fn len(&self) -> usize {
        let pausing = self.pausing.keys();
        self.paused.len() + pausing.filter(|route| !self.contains(route)).count()
    }

    /// A pause is on its way to the disk.
    pub(super) fn begin_pause(&mut self, route: Arc<str>) {
        *self.pausing.entry(route).or_default() += 1;
    }

    /// A pause is no longer on its way to the disk.
    pub(super) fn end_pause(&mut self, route: &str) {
        if let Some(pauses) = self.pausing.get_mut(route) {
            *pauses -= 1;
            if *pauses == 0 {
                self.pausing.remove(route);
            }
        }
    }

    /// A route is paused on disk. Returns false if it was before.
    pub(super) fn pause(&mut self, route: Arc<str>) -> bool {
        self.paused.insert(route)
    }

    /// A route is resumed on disk. Returns whether it was paused.
    pub(super) fn resume(&mut self, route: &str) -> bool {
        self.paused.remove(route)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_on_their_way_to_the_disk_count_once_for_each_route() {
        let mut routes = PausedRoutes::new(["a".into()].into_iter().collect());
        for route in ["a", "b", "b"] {
            assert!(routes.may_pause(route, 2));
            routes.begin_pause(route.into());
        }
        assert!(!routes.may_pause("c", 2), "a is paused, and b will be");
        assert!(routes.may_pause("c", 3) && routes.may_pause("b", 2));
        assert!(routes.contains("a") && !routes.contains("b"));
        routes.end_pause("b");
        assert!(
            !routes.may_pause("c", 2),
            "the other pause of b is in flight"
        );
        routes.end_pause("b");
        assert!(routes.may_pause("c", 2));
    }

    #[test]
    fn a_route_is_paused_and_resumed_once() {
        let mut routes = PausedRoutes::default();
        assert!(routes.pause("a".into()) && !routes.pause("a".into()));
        assert!(routes.resume("a") && !routes.resume("a"));
        assert!(routes.on_disk().is_empty());
    }
}
