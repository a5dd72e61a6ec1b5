use std::{
    collections::{BTreeSet, HashMap, VecDeque, btree_set},
    mem,
    sync::Arc,
};

use rustc_hash::FxHashSet;

use super::{
    ConsumerId,
    route::{RemainingConsumers, Route},
    route_queue::RouteQueue,
    settings::RouteSettings,
};
use crate::{key_hash::KeyHash, ledger::Position};

/// The routes that have consumers.
#[derive(Debug, Default)]
pub(super) struct RouteTable {
    by_name: HashMap<Arc<str>, Route, KeyHash>,
    /// Routes that may have room for tasks that are parked on disk.
    wanting: FxHashSet<Arc<str>>,
    /// Routes whose refill waits for memory, the oldest first.
    waiting_for_memory: RouteQueue,
    departed: PendingDepartures,
}

/// The routes that closed connections have not left yet. Until then these routes have a consumer
/// that does not exist, which is never chosen.
#[derive(Debug, Default)]
struct PendingDepartures {
    consumers: VecDeque<(ConsumerId, btree_set::IntoIter<Arc<str>>)>,
    /// The number of the routes.
    routes: usize,
}

impl RouteTable {
    #[inline]
    pub(super) fn get(&self, name: &str) -> Option<&Route> {
        self.by_name.get(name)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Route> {
        self.by_name.get_mut(name)
    }

    /// Registers a consumer. Returns those that lose the route for that, and whether the consumer
    /// is new to it. `settings` are those of a route that had no consumer.
    pub(super) fn register(
        &mut self,
        name: &Arc<str>,
        consumer: ConsumerId,
        exclusive: bool,
        settings: impl FnOnce() -> RouteSettings,
    ) -> (Vec<ConsumerId>, bool) {
        let route = match self.by_name.get_mut(name) {
            Some(route) => route,
            None => {
                let route = self.by_name.entry(name.clone());
                route.or_insert_with(|| Route::new(settings()))
            }
        };
        route.register(consumer, exclusive)
    }

    /// Removes a consumer from a route. Returns the route if it was the last one; the route is
    /// gone.
    pub(super) fn unregister(&mut self, name: &str, consumer: ConsumerId) -> Option<Route> {
        match self.by_name.get_mut(name)?.unregister(consumer) {
            RemainingConsumers::Unknown | RemainingConsumers::OthersStay => None,
            RemainingConsumers::Last => self.by_name.remove(name),
        }
    }

    /// Queues the routes of a closed connection for removal.
    pub(super) fn queue_departure(&mut self, consumer: ConsumerId, routes: BTreeSet<Arc<str>>) {
        if !routes.is_empty() {
            self.departed.routes += routes.len();
            let routes = routes.into_iter();
            self.departed.consumers.push_back((consumer, routes));
        }
    }

    /// The next route that a closed connection is to leave.
    pub(super) fn next_departed(&mut self) -> Option<(ConsumerId, Arc<str>)> {
        loop {
            let (consumer, routes) = self.departed.consumers.front_mut()?;
            if let Some(route) = routes.next() {
                self.departed.routes -= 1;
                return Some((*consumer, route));
            }
            self.departed.consumers.pop_front();
        }
    }

    /// Whether closed connections are to leave routes.
    pub(super) fn has_departed(&self) -> bool {
        !self.departed.consumers.is_empty()
    }

    /// The number of routes that closed connections are to leave.
    pub(super) const fn departing(&self) -> usize {
        self.departed.routes
    }

    /// Looks the settings of each route up anew.
    pub(super) fn reload(&mut self, settings_of: impl Fn(&str) -> RouteSettings) {
        for (name, route) in &mut self.by_name {
            route.set_settings(settings_of(name));
        }
    }

    /// A route may have room for what is parked.
    pub(super) fn request_refill(&mut self, name: Arc<str>) {
        self.wanting.insert(name);
    }

    /// A route may have room for what is parked if its queue is short: `limit` tasks may be queued.
    pub(super) fn request_refill_if_short(&mut self, name: &Arc<str>, limit: usize) {
        let route = self.by_name.get(name);
        if route.is_some_and(|route| route.wants_parked(limit)) {
            self.wanting.insert(name.clone());
        }
    }

    /// A queued task is not to be delivered any more; `limit` tasks may be queued.
    pub(super) fn unqueue(&mut self, name: &Arc<str>, position: Position, limit: usize) {
        if let Some(route) = self.by_name.get_mut(name) {
            route.unqueue(position);
            if route.wants_parked(limit) {
                self.wanting.insert(name.clone());
            }
        }
    }

    /// A task is parked on disk. Its route reads it once it has room.
    pub(super) fn note_parked(&mut self, name: Arc<str>, position: Position) {
        if let Some(route) = self.by_name.get_mut(&name) {
            route.note_parked(position);
            self.wanting.insert(name);
        }
    }

    /// The routes that may have room for what is parked, since the last call.
    pub(super) fn take_refill_requests(&mut self) -> FxHashSet<Arc<str>> {
        mem::take(&mut self.wanting)
    }

    /// Queues the refill of a route until the memory has room.
    pub(super) fn queue_for_memory(&mut self, name: &Arc<str>) {
        self.waiting_for_memory.push(name);
    }

    /// The route that has waited longest for memory. It waits no longer.
    pub(super) fn next_waiting_for_memory(&mut self) -> Option<Arc<str>> {
        self.waiting_for_memory.pop()
    }

    /// Whether any route waits for memory.
    pub(super) fn is_any_waiting_for_memory(&self) -> bool {
        !self.waiting_for_memory.is_empty()
    }

    /// Whether any route may have room for what is parked.
    pub(super) fn has_refill_request(&self) -> bool {
        !self.wanting.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Route)> {
        self.by_name.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTE: &str = "route";

    fn position(seq: u64) -> Position {
        Position { at: 5, seq }
    }

    /// A route with a consumer, of which nothing is parked.
    fn routes() -> RouteTable {
        let mut routes = RouteTable::default();
        routes.register(&ROUTE.into(), 1, false, RouteSettings::default);
        routes.get_mut(ROUTE).unwrap().set_backlog(None);
        routes
    }

    #[test]
    fn a_route_whose_queue_has_become_short_reads_what_is_parked() {
        let (mut routes, name) = (routes(), ROUTE.into());
        let route = routes.get_mut(ROUTE).unwrap();
        for seq in 1..=3 {
            route.queue(position(seq));
        }
        routes.unqueue(&name, position(1), 2);
        assert!(!routes.has_refill_request(), "nothing is parked");
        routes.note_parked(name.clone(), position(9));
        assert_eq!(routes.take_refill_requests().len(), 1);
        routes.request_refill_if_short(&name, 2);
        assert!(!routes.has_refill_request(), "two of two are queued");
        routes.unqueue(&name, position(2), 2);
        assert!(routes.take_refill_requests().contains(ROUTE));
        routes.note_parked("other".into(), position(9));
        assert!(!routes.has_refill_request(), "it has no consumer");
    }

    #[test]
    fn a_closed_connection_leaves_its_routes_one_by_one() {
        let mut routes = routes();
        routes.queue_departure(1, ["a".into(), "b".into()].into_iter().collect());
        routes.queue_departure(2, BTreeSet::new());
        assert_eq!((routes.departing(), routes.has_departed()), (2, true));
        assert_eq!(routes.next_departed(), Some((1, "a".into())));
        assert_eq!(routes.departing(), 1);
        assert_eq!(routes.next_departed(), Some((1, "b".into())));
        assert_eq!(routes.next_departed(), None);
        assert!(!routes.has_departed());
    }
}
