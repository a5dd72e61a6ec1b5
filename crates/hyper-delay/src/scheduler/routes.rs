use std::{collections::HashMap, mem, sync::Arc, time::Duration};

use rustc_hash::FxHashSet;

use super::{ConsumerId, route::Route};

/// The routes that have consumers.
#[derive(Debug, Default)]
pub(super) struct Routes {
    by_name: HashMap<Arc<str>, Route>,
    /// Routes that may have room for tasks that are parked on disk.
    wanting: FxHashSet<Arc<str>>,
}

impl Routes {
    pub(super) fn get(&self, name: &str) -> Option<&Route> {
        self.by_name.get(name)
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Route> {
        self.by_name.get_mut(name)
    }

    /// Registers a consumer. Returns those that lose the route for that, and whether the consumer is
    /// new to it. `hedge` is the delay of a route that had no consumer.
    pub(super) fn register(
        &mut self,
        name: &Arc<str>,
        consumer: ConsumerId,
        exclusive: bool,
        hedge: impl FnOnce() -> Option<Duration>,
    ) -> (Vec<ConsumerId>, bool) {
        if let Some(route) = self.by_name.get_mut(name) {
            return route.register(consumer, exclusive);
        }
        let route = self.by_name.entry(name.clone());
        let route = route.or_insert_with(|| Route::new(hedge()));
        route.register(consumer, exclusive)
    }

    /// Removes a consumer from a route. Returns the route if it was the last one; the route is gone.
    pub(super) fn unregister(&mut self, name: &str, consumer: ConsumerId) -> Option<Route> {
        if !self.by_name.get_mut(name)?.unregister(consumer) {
            return None;
        }
        self.by_name.remove(name)
    }

    /// Sets the hedging delays anew.
    pub(super) fn set_hedges(&mut self, hedge_of: impl Fn(&str) -> Option<Duration>) {
        for (name, route) in &mut self.by_name {
            route.set_hedge(hedge_of(name));
        }
    }

    /// A route may have room for what is parked.
    pub(super) fn want(&mut self, name: Arc<str>) {
        self.wanting.insert(name);
    }

    /// The routes that may have room for what is parked, since the last call.
    pub(super) fn take_wanting(&mut self) -> FxHashSet<Arc<str>> {
        mem::take(&mut self.wanting)
    }

    /// Whether no route may have room for what is parked.
    pub(super) fn wants_nothing(&self) -> bool {
        self.wanting.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Route)> {
        self.by_name.iter()
    }
}
