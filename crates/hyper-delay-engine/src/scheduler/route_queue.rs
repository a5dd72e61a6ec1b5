use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

use crate::key_hash::KeyHash;

/// Names of routes in the order in which they came, each once.
#[derive(Debug, Default)]
pub(super) struct RouteQueue {
    order: VecDeque<Arc<str>>,
    names: HashSet<Arc<str>, KeyHash>,
}

impl RouteQueue {
    /// Adds a route at the end, if it is not in the queue.
    pub(super) fn push(&mut self, route: &Arc<str>) {
        if !self.names.contains(route) {
            self.names.insert(route.clone());
            self.order.push_back(route.clone());
        }
    }

    pub(super) fn first(&self) -> Option<&Arc<str>> {
        self.order.front()
    }

    /// Removes the first route.
    pub(super) fn pop(&mut self) -> Option<Arc<str>> {
        let route = self.order.pop_front()?;
        self.names.remove(&route);
        Some(route)
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_in_the_queue_once_and_can_come_back() {
        let mut queue = RouteQueue::default();
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        for route in [&a, &b, &a] {
            queue.push(route);
        }
        assert_eq!((queue.len(), queue.first()), (2, Some(&a)));
        assert_eq!(queue.pop(), Some(a.clone()));
        queue.push(&a);
        assert_eq!(
            [queue.pop(), queue.pop(), queue.pop()],
            [Some(b), Some(a), None]
        );
        assert!(queue.is_empty());
    }
}
