//! The routes of closed connections.

use std::{
    collections::{BTreeSet, VecDeque, btree_set},
    sync::Arc,
};

use super::{ConsumerId, Scheduler, Settings};
use crate::store::Store;

/// Routes that are left in one go, so that a connection with many does not stall the others.
const CHUNK: usize = 1024;

/// Routes that closed connections have not left yet. Until then they list a consumer that does not
/// exist, which is never chosen.
#[derive(Debug, Default)]
pub(super) struct Departed {
    consumers: VecDeque<(ConsumerId, btree_set::IntoIter<Arc<str>>)>,
}

impl Departed {
    fn push(&mut self, consumer: ConsumerId, routes: BTreeSet<Arc<str>>) {
        if !routes.is_empty() {
            self.consumers.push_back((consumer, routes.into_iter()));
        }
    }

    fn next(&mut self) -> Option<(ConsumerId, Arc<str>)> {
        loop {
            let (consumer, routes) = self.consumers.front_mut()?;
            if let Some(route) = routes.next() {
                return Some((*consumer, route));
            }
            self.consumers.pop_front();
        }
    }
}

impl<S: Store> Scheduler<S> {
    /// A connection is closed: it leaves its routes, at once if they are few.
    pub(super) fn depart(&mut self, consumer: ConsumerId, routes: BTreeSet<Arc<str>>) {
        self.departed.push(consumer, routes);
        self.leave_departed();
    }

    /// Leaves routes of closed connections. Returns whether there are more.
    pub(super) fn leave_departed(&mut self) -> bool {
        for _ in 0..CHUNK {
            let Some((consumer, route)) = self.departed.next() else {
                return false;
            };
            self.leave(consumer, &route);
        }
        !self.departed.consumers.is_empty()
    }

    /// Returns whether a connection has no route and no delivery in flight.
    pub(crate) fn is_idle(&self, consumer: ConsumerId) -> bool {
        let state = self.consumers.get(&consumer);
        state.is_none_or(super::Consumer::is_idle)
    }

    /// Applies new settings. The resolution of the wheel stays.
    pub(super) fn reconfigure(&mut self, settings: Settings) {
        self.settings = Settings {
            tick_millis: self.settings.tick_millis,
            ..settings
        };
        for (name, route) in &mut self.routes {
            route.hedge = self.settings.config.hedge_of(name);
        }
    }
}
