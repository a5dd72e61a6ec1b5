//! Registers routes, and removes closed connections from theirs.

use std::sync::Arc;

use super::{ConsumerId, ConsumerMessage, ReplyTo, Scheduler, round::CopyEnd};
use hyper_delay_protocol::{Accept, Code, Reason, Refusal, RegisterMode, Reply};
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
        for (_, copy) in closed.unanswered {
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

    pub(super) fn register(
        &mut self,
        to: ReplyTo,
        route: &Arc<str>,
        (credit, accept): (Option<u16>, Option<Accept>),
        mode: RegisterMode,
    ) {
        let consumer = to.consumer;
        if let Some(refusal) = self.route_refusal(consumer, route) {
            return self.reply(to, Reply::Error(refusal));
        }
        let Some(state) = self.consumers.get_mut(consumer) else {
            return;
        };
        if let Some(credit) = credit {
            state.set_credit(credit);
        }
        if let Some(accept) = accept {
            state.set_accept(accept);
        }
        if state.own.is_named(route) {
            state.own.keep_registered();
        }
        let registered = Reply::Registered {
            route: route.clone(),
            credit: state.credit(),
        };
        self.reply(to, registered);
        self.register_consumer(consumer, route, mode);
        self.refill(route);
        self.dispatch(route);
        if credit.is_some() {
            self.dispatch_for(consumer);
        }
    }

    /// Refuses one more route for a connection that may have no more.
    pub(super) fn route_refusal(&self, consumer: ConsumerId, route: &Arc<str>) -> Option<Refusal> {
        let state = self.consumers.get(consumer)?;
        if state.has_route(route) {
            return None;
        }
        let (of_one, of_all) = (state.routes(), self.routes.registrations());
        let most_of_one = self.settings.max_routes_per_connection;
        let most = self.settings.max_routes;
        let message = if of_one >= most_of_one {
            format!(
                "this connection has {of_one} routes, and max_routes_per_connection is \
                 {most_of_one}: unregister some, or raise it"
            )
        } else if of_all >= most {
            format!(
                "all connections have {of_all} routes, and max_routes is {most}: unregister some, \
                 or raise it"
            )
        } else {
            return None;
        };
        Some(Refusal {
            route: Some(route.clone()),
            ..Refusal::new(Code::TooManyRoutes, message)
        })
    }

    pub(super) fn unregister(&mut self, to: ReplyTo, route: Arc<str>) {
        let consumer = to.consumer;
        let state = self.consumers.get_mut(consumer);
        if state.is_some_and(|state| state.remove_route(&route)) {
            self.remove_consumer(consumer, &route);
        }
        let reason = Reason::Asked;
        self.reply(to, Reply::Unregistered { route, reason });
    }

    /// A schedule on the connection's own route is answered. A refused one has changed nothing, so the
    /// registration of that route is undone, unless something else rests on it.
    pub(super) fn end_own_schedule(&mut self, consumer: ConsumerId, was_refused: bool) {
        let Some(state) = self.consumers.get_mut(consumer) else {
            return;
        };
        if state.own.end_schedule(was_refused)
            && let Some(route) = state.own.name().cloned()
            && state.remove_route(&route)
        {
            self.remove_consumer(consumer, &route);
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
            let message = ConsumerMessage::Reply {
                reply,
                tag: None,
                weight: 0,
            };
            self.messages.push((loser, message));
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
            if self.tasks.get(seq).is_some_and(|task| task.is_parked) {
                self.tasks.remove(seq, &mut self.timers);
            } else {
                self.park(seq);
            }
        }
    }
}
