use std::{
    collections::{BTreeSet, HashMap, VecDeque, btree_set},
    mem,
    sync::Arc,
};

use rustc_hash::FxHashSet;

use super::{
    ConsumerId,
    route::{RemainingConsumers, Route},
    settings::RouteSettings,
};
use crate::key_hash::KeyHash;

/// The routes that have consumers.
#[derive(Debug, Default)]
pub(super) struct RouteTable {
    by_name: HashMap<Arc<str>, Route, KeyHash>,
    /// Routes that may have room for tasks that are parked on disk.
    wanting: FxHashSet<Arc<str>>,
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

    /// The routes that may have room for what is parked, since the last call.
    pub(super) fn take_refill_requests(&mut self) -> FxHashSet<Arc<str>> {
        mem::take(&mut self.wanting)
    }

    /// Whether no route may have room for what is parked.
    pub(super) fn has_no_refill_request(&self) -> bool {
        self.wanting.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Route)> {
        self.by_name.iter()
    }
}
