//! The routes of closed connections.

use std::{
    collections::{BTreeSet, VecDeque, btree_set},
    sync::Arc,
};

use super::{ConsumerId, Scheduler};
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
}

#[cfg(test)]
mod tests {
    use race_wheel::Tick;

    use super::*;
    use crate::{
        clock::Now,
        config::Config,
        protocol::{Line, Mode, Request},
        scheduler::{Ask, Input, Next},
        store::fake::Fake,
    };

    const NOW: Now = Now {
        wall_nanos: 1_000_000_000_000_000,
        monotonic: Tick::ZERO,
    };

    fn register(route: String) -> Ask {
        let request = Request::Register {
            route: route.into(),
            credit: None,
            mode: Mode::Shared,
        };
        let line = Line { tag: None, request };
        Ask { line, weight: 1 }
    }

    #[test]
    fn a_closed_connection_leaves_a_bounded_number_of_routes_at_a_time() {
        const ROUTES: usize = 3 * CHUNK + 1;
        let settings = Arc::new(Config::default()).into();
        let mut scheduler = Scheduler::new(Arc::new(Fake::default()), settings, 0, NOW);
        scheduler.handle(Input::Opened(1), NOW);
        let asks = (0..ROUTES).map(|number| register(number.to_string()));
        scheduler.handle(Input::Asked(1, asks.collect()), NOW);
        while scheduler.tick(NOW) == Next::Now {}
        assert_eq!(scheduler.registrations, ROUTES);

        scheduler.handle(Input::Closed(1), NOW);
        for left in [ROUTES - CHUNK, ROUTES - 2 * CHUNK, ROUTES - 3 * CHUNK] {
            assert_eq!(
                (scheduler.routes.len(), scheduler.registrations),
                (left, left)
            );
            // The scheduler asks to be called again at once.
            assert_eq!(scheduler.tick(NOW) == Next::Now, left > CHUNK);
        }
        assert!(scheduler.routes.is_empty());
        assert_eq!(scheduler.registrations, 0);
    }

    #[test]
    fn a_route_that_is_registered_again_meanwhile_is_kept_for_its_new_consumer() {
        let settings = Arc::new(Config::default()).into();
        let mut scheduler = Scheduler::new(Arc::new(Fake::default()), settings, 0, NOW);
        for consumer in [1, 2] {
            scheduler.handle(Input::Opened(consumer), NOW);
        }
        let asks = (0..=CHUNK).map(|number| register(format!("{number:09}")));
        scheduler.handle(Input::Asked(1, asks.collect()), NOW);
        scheduler.handle(Input::Closed(1), NOW);
        // The last route is not left yet.
        let last: Arc<str> = format!("{CHUNK:09}").into();
        assert_eq!(scheduler.routes[&last].consumers, [1]);
        scheduler.handle(Input::Asked(2, vec![register(last.to_string())]), NOW);
        while scheduler.tick(NOW) == Next::Now {}
        assert_eq!(scheduler.routes[&last].consumers, [2]);
        assert_eq!((scheduler.routes.len(), scheduler.registrations), (1, 1));
    }
}
