//! Messages of leaders.

use std::sync::Arc;

use race_wheel::Tick;

use super::{
    Forwarder,
    deliveries::{ServedDelivery, unwritten_message, void_message},
    leader_session::PendingRequest,
    unconfirmed::DeliveryOutcome,
    wire::{ForwardedCopy, ToConnection, ToLeader, ToServing, UnsentDelivery},
};
use crate::{ShardId, log::NodeName};
use hyper_delay_engine::{
    authority::Authority,
    front::{Admission, ConsumerMessage},
    scheduler::{ConsumerId, CopyId, RequestNumber, UnsentReason},
};
use hyper_delay_protocol::{Accept, Reason, Refusal, Reply};

impl Forwarder {
    pub(super) fn handle_leader_message(
        &mut self,
        node: &NodeName,
        shard: ShardId,
        message: ToServing,
    ) {
        let now = self.now.monotonic;
        match message {
            ToServing::Accepted { epoch, grant } => {
                self.session_accepted(node, shard, epoch, grant);
            }
            ToServing::Refused { epoch } => self.session(shard).refused(node, epoch, now),
            ToServing::Granted { epoch, grant } => {
                self.session(shard).granted(node, epoch, grant, now);
            }
            ToServing::Ended { epoch } => self.session_ended(node, shard, epoch),
            ToServing::Connection(consumer, message) => {
                let active = self.session(shard).active();
                if active.is_some_and(|active| active.is_with(node)) {
                    self.handle_connection_message(shard, consumer, message);
                }
            }
        }
    }

    fn handle_connection_message(
        &mut self,
        shard: ShardId,
        consumer: ConsumerId,
        message: ToConnection,
    ) {
        match message {
            ToConnection::Reply(number, reply) => self.handle_reply(shard, number, reply),
            ToConnection::Touched(number, reply, until) => {
                self.extend_delivery(shard, number, &reply, until);
                self.handle_reply(shard, number, reply);
            }
            ToConnection::Quiet(number) => {
                if let Some(mut pending) = self.session(shard).answered(number) {
                    let change = std::mem::take(&mut pending.change);
                    self.front.refused(consumer, change);
                    self.reply_or_release(pending, None);
                }
            }
            ToConnection::QueryAnswer(number, answer) => {
                self.handle_query_answer(shard, number, answer);
            }
            ToConnection::Notice(reply) => self.handle_notice(consumer, reply),
            ToConnection::Deliver(copy) => {
                self.session(shard).note_copy(copy.number);
                self.receive_copy(shard, consumer, *copy);
            }
            ToConnection::Credit(credit) => {
                self.front.credit_changed(consumer, shard, credit);
                self.balance(consumer);
            }
        }
    }

    /// The leader has answered a request.
    fn handle_reply(&mut self, shard: ShardId, number: RequestNumber, mut reply: Reply) {
        let Some(mut pending) = self.session(shard).answered(number) else {
            return;
        };
        let consumer = pending.reply_to.consumer;
        let change = std::mem::take(&mut pending.change);
        if !change.is_none() {
            self.settle(consumer, shard, change, &mut reply);
        }
        if let Reply::Unregistered { route, .. } = &reply {
            self.return_waiting_copies(consumer, |of| of == &**route);
        }
        if let Some(names) = pending.given_names() {
            names.restore(&mut reply);
        }
        self.reply(pending, reply);
    }

    /// The delivery that a client has touched ends then, on the clock of its leader. The wall clocks
    /// of the two nodes can differ.
    fn extend_delivery(
        &mut self,
        shard: ShardId,
        number: RequestNumber,
        reply: &Reply,
        until_at_leader: Tick,
    ) {
        let session = &self.sessions[shard];
        let (Some(active), Some(pending)) = (session.active(), session.pending(number)) else {
            return;
        };
        let until = active.to_local(until_at_leader);
        if let Some(copy) = self.front.touched(pending.reply_to.consumer, reply, until) {
            copy.until_at_leader = until_at_leader.max(copy.until_at_leader);
        }
    }

    /// A reply without a request: a route is taken.
    fn handle_notice(&mut self, consumer: ConsumerId, reply: Reply) {
        if let Reply::Unregistered {
            route,
            reason: Reason::Replaced,
        } = &reply
        {
            self.front.replaced(consumer, route);
            self.balance(consumer);
            self.return_waiting_copies(consumer, |of| of == &**route);
        }
        let news = ConsumerMessage::news(reply);
        self.effects.messages.push((consumer, news));
    }

    pub(super) fn deliver(&mut self, shard: ShardId, consumer: ConsumerId, copy: &ForwardedCopy) {
        let now = self.now.monotonic;
        let Some(active) = self.session(shard).active() else {
            return;
        };
        let delivered = active.delivered(copy);
        if !self.front.is_open(consumer) {
            return;
        }
        let id = &copy.revision.id;
        match self.front.deliver(consumer, id, delivered.clone(), now) {
            Admission::Send(accept) => self.pass_to_connection(consumer, id, delivered, accept),
            Admission::Queued => {}
            Admission::Void => {
                // It comes again in the next round.
                let void = void_message(&delivered, consumer, id.clone());
                self.send_to(consumer, (id, delivered), void);
            }
        }
    }

    /// Passes a delivery to the connection.
    fn pass_to_connection(
        &mut self,
        consumer: ConsumerId,
        id: &Arc<str>,
        delivered: ServedDelivery,
        accept: Accept,
    ) {
        let authority = delivered.origin.authority.clone();
        let message = delivered.into_message(id.clone(), accept, Some(authority));
        self.effects.messages.push((consumer, message));
    }

    /// An id is free on a connection: the next delivery of it is sent, or goes back to its leader.
    pub(super) fn release(&mut self, consumer: ConsumerId, id: &Arc<str>) {
        let now = self.now.monotonic;
        let Some((delivered, accept)) = self.front.release(consumer, id, now) else {
            return;
        };
        let Some(accept) = accept else {
            let ServedDelivery { seq, attempt, .. } = delivered;
            let id = id.clone();
            let copy = CopyId { consumer, seq, id };
            return self.report_unsent(copy, UnsentReason::Void { attempt });
        };
        self.pass_to_connection(consumer, id, delivered, accept);
    }

    /// Gives back the deliveries of some routes that have not been passed to a connection: it is
    /// closed, or has one of the routes no longer.
    pub(super) fn return_waiting_copies(
        &mut self,
        consumer: ConsumerId,
        is_of: impl Fn(&str) -> bool,
    ) {
        for shard in (0..self.shards).map(ShardId) {
            for (_, copy) in self.contents[shard].take_copies_of(consumer, &is_of) {
                self.return_copy(shard, consumer, copy);
            }
        }
        let queued = self
            .front
            .take_queued(consumer, |queued| is_of(&queued.route));
        for (id, delivered) in queued {
            let message = void_message(&delivered, consumer, id.clone());
            self.send_to(consumer, (&id, delivered), message);
        }
    }

    /// Ends deliveries whose time has passed, and sends those that waited for their ids. Those whose
    /// turn has not come in time go back to their leaders.
    pub(super) fn expire_deliveries(&mut self) {
        let (late, free) = self.front.expire(self.now.monotonic);
        for (consumer, id, delivered) in late {
            let message = unwritten_message(&delivered, consumer, id.clone());
            self.send_to(consumer, (&id, delivered), message);
        }
        for (consumer, id, ()) in free {
            self.release(consumer, &id);
        }
    }

    /// Returns whether the delivery in flight is the one that this leadership has sent.
    pub(super) fn has_copy_of(&self, copy: &CopyId, authority: &Arc<Authority>) -> bool {
        let delivered = self.front.in_flight_of(copy.consumer, &copy.id);
        delivered.is_some_and(|it| Arc::ptr_eq(&it.origin.authority, authority))
    }

    /// A delivery was not written. Reports it to the leader that counts it as in flight.
    pub(super) fn report_unsent(&mut self, copy: CopyId, why: UnsentReason) {
        let CopyId { consumer, seq, id } = copy;
        let delivered = self.front.remove_unsent(consumer, &id, seq, why.attempt());
        let Some(delivered) = delivered else {
            return;
        };
        self.recount(consumer, delivered.origin.shard);
        let why = match why {
            UnsentReason::TooLate { attempt, .. } => UnsentReason::TooLate {
                attempt,
                until: delivered.origin.until_at_leader,
            },
            why => why,
        };
        let not_sent = UnsentDelivery {
            seq,
            id: id.clone(),
            why,
        };
        let message = ToLeader::NotSent(consumer, not_sent);
        self.send_to(consumer, (&id, delivered), message);
        self.balance(consumer);
        self.release(consumer, &id);
    }

    /// Sends the outcome of a delivery to the leader that counts it as in flight, now or once
    /// there is a link again.
    pub(super) fn send_to(
        &mut self,
        consumer: ConsumerId,
        (id, delivered): (&Arc<str>, ServedDelivery),
        message: ToLeader,
    ) {
        let shard = delivered.origin.shard;
        match self.session(shard).active() {
            Some(active) if active.counts(&delivered) => {
                let now = self.now.monotonic;
                let outcome = DeliveryOutcome::NotAcked(id.clone(), delivered, message.clone());
                self.session(shard).sent(consumer, outcome, now);
                self.send(shard, message);
            }
            Some(_) => {}
            None => self.defer(consumer, (id.clone(), delivered, message)),
        }
    }

    /// Refuses a request.
    pub(super) fn refuse(&mut self, to: PendingRequest, refusal: Refusal) {
        self.reply(to, Reply::Error(refusal));
    }
}
