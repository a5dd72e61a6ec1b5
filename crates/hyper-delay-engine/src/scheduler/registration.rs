//! Registers routes, and removes closed connections from theirs.

use std::sync::Arc;

use super::{ConsumerId, RequestId, Scheduler, SchedulerMessage, round::CopyEnd};
use hyper_delay_protocol::{Reason, RegisterMode, Reply};
use hyper_delay_store::Store;

/// The maximum number of routes that one call removes closed connections from, so that a connection
/// with many routes does not delay the others.
const DEPARTURES: usize = 1024;

impl<S: Store> Scheduler<S> {
    /// Takes the credit of a connection that is about to close, so that it is not chosen any more.
    pub(super) fn handle_closing(&mut self, consumer: ConsumerId) {
        if let Some(state) = self.consumers.get_mut(consumer) {
            state.stop_deliveries();
        }
    }

    pub(super) fn handle_closed(&mut self, consumer: ConsumerId) {
        let Some(closed) = self.consumers.close(consumer) else {
            return;
        };
        if self.is_shutting_down {
            // What it has in flight has not failed: the next start delivers it.
            return;
        }
        self.routes.queue_departure(consumer, closed.routes);
        self.remove_departed();
        for copy in closed.unanswered {
            if let Some(end) = copy.end {
                self.timers.cancel(end);
            }
            self.fail_copy(copy.seq, consumer, CopyEnd::default());
        }
    }

    /// Removes closed connections from a bounded number of routes.
    pub(super) fn remove_departed(&mut self) {
        for _ in 0..DEPARTURES {
            let Some((consumer, route)) = self.routes.next_departed() else {
                return;
            };
            self.remove_consumer(consumer, &route);
        }
    }

    /// A connection registers a route. The reply comes before the first delivery.
    pub(crate) fn register(&mut self, to: RequestId, route: &Arc<str>, mode: RegisterMode) {
        let registered = Reply::Registered {
            route: route.clone(),
            credit: 0,
        };
        self.reply(to, registered);
        self.bind(to.consumer, route, mode);
    }

    /// Makes a connection a consumer of a route, without a reply.
    pub(crate) fn bind(&mut self, consumer: ConsumerId, route: &Arc<str>, mode: RegisterMode) {
        self.register_consumer(consumer, route, mode);
        self.refill(route);
        self.dispatch(route);
    }

    pub(crate) fn unregister(&mut self, to: RequestId, route: Arc<str>) {
        self.leave(to.consumer, &route);
        let reason = Reason::Asked;
        self.reply(to, Reply::Unregistered { route, reason });
    }

    /// A connection is no consumer of a route any more.
    pub(crate) fn leave(&mut self, consumer: ConsumerId, route: &str) {
        let state = self.consumers.get_mut(consumer);
        if state.is_some_and(|state| state.remove_route(route)) {
            self.remove_consumer(consumer, route);
        }
    }

    /// Makes a connection a consumer of a route; those that cannot share the route with it lose it.
    pub(super) fn register_consumer(
        &mut self,
        consumer: ConsumerId,
        name: &Arc<str>,
        mode: RegisterMode,
    ) {
        let Some(state) = self.consumers.get_mut(consumer) else {
            return;
        };
        let settings = &self.settings;
        let exclusive = mode == RegisterMode::Exclusive;
        let (losers, is_new) = self
            .routes
            .register(name, consumer, exclusive, || settings.of_route(name));
        if is_new {
            state.add_route(name);
        }
        for loser in losers {
            if let Some(state) = self.consumers.get_mut(loser) {
                state.remove_route(name);
            }
            let reply = Reply::Unregistered {
                route: name.clone(),
                reason: Reason::Replaced,
            };
            self.messages.push((loser, SchedulerMessage::Notice(reply)));
        }
    }

    /// Removes a connection from the consumers of a route. With the last one the route goes: what
    /// waited in memory for a consumer to have room waits on disk.
    fn remove_consumer(&mut self, consumer: ConsumerId, name: &str) {
        let Some(route) = self.routes.unregister(name, consumer) else {
            return;
        };
        for position in route.into_ready() {
            let seq = position.seq;
            if !self.tasks.remove_parked(seq, &mut self.timers) {
                self.park(seq);
            }
        }
    }
}
