//! Deliveries to connections, from their admission to their end.

use std::sync::Arc;

use race_wheel::Tick;

use super::{Delivery, Front, Origin, deliveries::Added};
use crate::scheduler::ConsumerId;
use hyper_delay_protocol::{Accept, DeliverySelector, Reply};

/// Something of a connection, by its id.
pub type Addressed<T> = (ConsumerId, Arc<str>, T);

/// What to do with a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Send it to the connection, which accepts these compressions.
    Send(Accept),
    /// The connection has another one with the same id: it waits.
    Queued,
    /// It goes back as never sent, and comes again in another round: the connection takes no more, its
    /// credit was lowered meanwhile, or it could not tell it from an earlier one.
    Void,
}

impl<O: Origin> Front<O> {
    /// A delivery comes for a connection. Returns what to do with it.
    pub fn deliver(
        &mut self,
        consumer: ConsumerId,
        id: &Arc<str>,
        delivery: Delivery<O>,
        now: Tick,
    ) -> Admission {
        let Some(connection) = self.connections.get_mut(&consumer) else {
            return Admission::Void;
        };
        if connection.is_closing {
            return Admission::Void;
        }
        let deliveries = &mut connection.deliveries;
        let credit = usize::from(connection.loans.credit());
        if deliveries.len() > 2 * credit + 64 && deliveries.may_scan() {
            deliveries.prune(now);
        }
        if connection.has_too_many(now, 1) {
            return Admission::Void;
        }
        match connection.deliveries.add(id, delivery, now) {
            Added::InFlight => Admission::Send(connection.options.accept()),
            Added::Queued => {
                self.waiting.insert(consumer);
                Admission::Queued
            }
            Added::Confusing => Admission::Void,
        }
    }

    /// Returns whether a connection has deliveries that wait for their ids.
    #[must_use]
    pub(crate) fn has_queued(&self, consumer: ConsumerId) -> bool {
        !self.waiting.is_empty() && self.waiting.contains(&consumer)
    }

    /// An id is free on a connection. Returns the next delivery of it, which counts as in flight from
    /// now on, and the compressions that the connection accepts. `None` instead of them: it goes back
    /// as never sent, as its task has expired, it is too late to write it, the connection takes no more,
    /// or its credit was lowered meanwhile.
    pub fn release(
        &mut self,
        consumer: ConsumerId,
        id: &Arc<str>,
        now: Tick,
    ) -> Option<(Delivery<O>, Option<Accept>)> {
        if !self.has_queued(consumer) {
            return None;
        }
        let connection = self.connections.get_mut(&consumer)?;
        let delivery = connection.deliveries.release(id);
        if !connection.deliveries.has_queued() {
            self.waiting.remove(&consumer);
        }
        let delivery = delivery?;
        let goes_back = connection.is_closing
            || delivery.origin.has_expired(now)
            || delivery.write_by <= now
            || connection.has_too_many(now, 0);
        let accept = (!goes_back).then(|| connection.options.accept());
        Some((delivery, accept))
    }

    /// Returns when something is due: the end of the time of a delivery whose id others wait for, or
    /// the time until which one of those must be written.
    #[must_use]
    pub fn next(&self) -> Option<Tick> {
        let waiting = self.waiting.iter();
        let connections = waiting.filter_map(|consumer| self.connections.get(consumer));
        connections.filter_map(|it| it.deliveries.next()).min()
    }

    /// Removes and returns the deliveries of all connections that have waited for their ids too long,
    /// and returns the ids that are free now.
    pub fn expire(&mut self, now: Tick) -> (Vec<Addressed<Delivery<O>>>, Vec<Addressed<()>>) {
        let (mut late, mut free) = (Vec::new(), Vec::new());
        self.waiting.retain(|consumer| {
            let Some(connection) = self.connections.get_mut(consumer) else {
                return false;
            };
            let deliveries = &mut connection.deliveries;
            let queued = deliveries.take_queued(|queued| queued.write_by <= now);
            late.extend(queued.into_iter().map(|(id, it)| (*consumer, id, it)));
            let ids = deliveries.expire(now).into_iter();
            free.extend(ids.map(|id| (*consumer, id, ())));
            deliveries.has_queued()
        });
        (late, free)
    }

    /// Removes and returns the deliveries of this kind that wait for their ids.
    pub fn take_queued(
        &mut self,
        consumer: ConsumerId,
        is_it: impl Fn(&Delivery<O>) -> bool,
    ) -> Vec<(Arc<str>, Delivery<O>)> {
        let Some(connection) = self.connections.get_mut(&consumer) else {
            return Vec::new();
        };
        let taken = connection.deliveries.take_queued(is_it);
        if !connection.deliveries.has_queued() {
            self.waiting.remove(&consumer);
        }
        taken
    }

    /// Removes the delivery in flight of an id that was not sent, if it is of this revision and round.
    /// `None`: any round.
    pub fn remove_unsent(
        &mut self,
        consumer: ConsumerId,
        id: &str,
        seq: u64,
        attempt: Option<u32>,
    ) -> Option<Delivery<O>> {
        let connection = self.connections.get_mut(&consumer)?;
        connection.deliveries.remove(id, seq, attempt)
    }

    /// Returns the delivery in flight of an id.
    #[must_use]
    pub fn in_flight_of(&self, consumer: ConsumerId, id: &str) -> Option<&Delivery<O>> {
        self.connections.get(&consumer)?.deliveries.get(id)
    }

    /// Returns the deliveries in flight of this kind, in order of id.
    pub fn in_flight_mut(
        &mut self,
        consumer: ConsumerId,
        is_it: impl Fn(&Delivery<O>) -> bool,
    ) -> Vec<(&Arc<str>, &mut Delivery<O>)> {
        let connection = self.connections.get_mut(&consumer);
        connection.map_or_else(Vec::new, |it| it.deliveries.in_flight_mut(is_it))
    }

    /// The scheduler has answered a touch. If it has found the delivery, the time to answer lasts at
    /// least until then. Returns where the delivery comes from, if it is in flight.
    pub fn touched(&mut self, consumer: ConsumerId, reply: &Reply, until: Tick) -> Option<&mut O> {
        let Reply::Touched {
            id,
            route,
            attempt,
            deadline: Some(_),
        } = reply
        else {
            return None;
        };
        let named = DeliverySelector {
            id: id.clone(),
            route: route.clone(),
            attempt: *attempt,
        };
        self.extend(consumer, &named, until)
    }

    /// The time to answer the delivery in flight of this name lasts at least until then.
    pub(super) fn extend(
        &mut self,
        consumer: ConsumerId,
        named: &DeliverySelector,
        until: Tick,
    ) -> Option<&mut O> {
        let connection = self.connections.get_mut(&consumer)?;
        let delivery = connection.deliveries.find_in_flight_mut(named)?;
        delivery.until = delivery.until.max(until);
        Some(&mut delivery.origin)
    }

    /// The task of a delivery in flight was acknowledged through another copy.
    pub fn lose(&mut self, consumer: ConsumerId, id: &str, seq: u64) {
        if let Some(connection) = self.connections.get_mut(&consumer) {
            connection.deliveries.lose(id, seq);
        }
    }

    /// Returns how many deliveries without an answer in their time are remembered for a connection.
    #[must_use]
    pub fn late_limit(&self, consumer: ConsumerId) -> usize {
        let connection = self.connections.get(&consumer);
        connection.map_or(0, |connection| connection.deliveries.late_limit())
    }

    /// A delivery whose time had passed is given back after all.
    pub(crate) fn forget_late(&mut self, consumer: ConsumerId, id: &str, seq: u64) {
        if let Some(connection) = self.connections.get_mut(&consumer) {
            connection.deliveries.forget_late(id, seq);
        }
    }

    /// An answer has not taken effect, or perhaps not: the delivery can still be acknowledged.
    pub fn put_back(&mut self, consumer: ConsumerId, id: Arc<str>, delivery: Delivery<O>) {
        if let Some(connection) = self.connections.get_mut(&consumer) {
            connection.deliveries.put_back(&id, delivery);
        }
    }
}
