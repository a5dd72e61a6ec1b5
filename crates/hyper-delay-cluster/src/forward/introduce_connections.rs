//! A new leader learns of the connections that have to do with its shard.

use std::sync::Arc;

use super::{
    Forwarder, deliveries::adopted, served_connections::DeferredOutcome,
    unconfirmed::DeliveryOutcome, wire::ToLeader,
};
use crate::ShardId;
use hyper_delay_engine::scheduler::{ConsumerId, UnansweredDelivery};
use hyper_delay_protocol::RegisterMode;

impl Forwarder {
    /// Tells a new leader of the connections that have to do with its shard. It can deliver to them
    /// when they have credit, after it has got the acks.
    pub(super) fn introduce_connections(&mut self, shard: ShardId, epoch: u64) {
        let connections: Vec<ConsumerId> = self.served.consumers().collect();
        let mut without = Vec::new();
        for consumer in connections {
            if !self.introduce(consumer, shard, epoch) {
                self.front.remove_loan(consumer, shard);
                without.push(consumer);
            }
        }
        for consumer in without {
            self.balance(consumer);
        }
    }

    /// Tells a new leader of a connection. Returns whether that has to do with its shard.
    fn introduce(&mut self, consumer: ConsumerId, shard: ShardId, epoch: u64) -> bool {
        let deferred = self.served.take_deferred(consumer, shard, epoch);
        let in_flight = self.hand_over_in_flight(consumer, shard, epoch);
        let routes = self.front.routes_of(consumer, shard);
        let routes: Vec<_> = routes.map(|(route, mode)| (route.clone(), mode)).collect();
        if routes.is_empty() && in_flight.is_empty() && deferred.is_empty() {
            return false;
        }
        self.served.open_at(consumer, shard);
        self.send(shard, ToLeader::Opened(consumer));
        for outcome in deferred {
            self.repeat(consumer, shard, outcome);
        }
        if !in_flight.is_empty() {
            self.send(shard, ToLeader::Adopted(consumer, in_flight));
        }
        self.bind(consumer, shard, routes);
        true
    }

    /// The deliveries of a shard that a connection has in flight belong to a new leadership.
    fn hand_over_in_flight(
        &mut self,
        consumer: ConsumerId,
        shard: ShardId,
        epoch: u64,
    ) -> Vec<UnansweredDelivery> {
        let now = self.now.monotonic;
        let in_flight = self
            .front
            .in_flight_mut(consumer, |it| it.origin.shard == shard && it.until > now);
        let in_flight = in_flight.into_iter().map(|(id, delivered)| {
            delivered.origin.epoch = epoch;
            adopted(delivered, id, now)
        });
        in_flight.collect()
    }

    /// Repeats the outcome of a delivery. The leader counts a copy as in flight until it gets its
    /// outcome, and an id once at a time. The link to it can break, too.
    fn repeat(&mut self, consumer: ConsumerId, shard: ShardId, outcome: DeferredOutcome) {
        let now = self.now.monotonic;
        let (id, delivered, message) = outcome;
        let adopted = vec![adopted(&delivered, &id, now)];
        self.send(shard, ToLeader::Adopted(consumer, adopted));
        self.send(shard, message.clone());
        let outcome = DeliveryOutcome::NotAcked(id, delivered, message);
        self.session(shard).sent(consumer, outcome, now);
    }

    /// Registers the routes of a connection. Without the contents it takes no copies, but its own
    /// route has a consumer: its tasks are not orphaned.
    fn bind(
        &mut self,
        consumer: ConsumerId,
        shard: ShardId,
        routes: Vec<(Arc<str>, RegisterMode)>,
    ) {
        let is_here = self.contents[shard].are_available();
        let is_closing = self.front.is_closing(consumer);
        if is_closing || !is_here {
            self.send(shard, ToLeader::Closing(consumer));
        }
        if is_closing {
            return;
        }
        let own = self.front.own_route(consumer).cloned();
        for (route, mode) in routes {
            if is_here || own.as_ref() == Some(&route) {
                self.send(shard, ToLeader::Bound(consumer, route, mode));
            }
        }
    }
}
