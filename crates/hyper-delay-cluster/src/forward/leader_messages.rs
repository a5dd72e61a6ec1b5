//! Messages of leaders.

use std::sync::Arc;

use race_wheel::Tick;

use super::{
    Forwarder,
    deliveries::ServedDelivery,
    leader_session::{AwaitingCopy, PendingRequest, ReplyAction},
    registration_options::OptionsId,
    unconfirmed::DeliveryOutcome,
    wire::{
        ForwardedCopy, RequestNumber, ToConnection, ToLeader, ToServing, UnsentDelivery,
        UnsentReason,
    },
};
use crate::{ShardId, log::NodeName};
use hyper_delay_engine::{
    authority::Authority,
    scheduler::{ConsumerId, ConsumerMessage, CopyId, CreditChange},
};
use hyper_delay_protocol::{Code, Reason, Refusal, RegisterMode, Reply};

impl Forwarder {
    pub(super) fn handle_leader_message(
        &mut self,
        node: &NodeName,
        shard: ShardId,
        message: ToServing,
    ) {
        match message {
            ToServing::Accepted { epoch, grant } => {
                self.session_accepted(node, shard, epoch, grant);
            }
            ToServing::Refused { epoch } => self.session_refused(node, shard, epoch),
            ToServing::Granted { epoch, grant } => self.session_granted(node, shard, epoch, grant),
            ToServing::Ended { epoch } => self.session_ended(node, shard, epoch),
            ToServing::Connection(consumer, message) => {
                let active = self.session(shard).active();
                if active.is_some_and(|active| active.partner.node == *node) {
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
                self.extend_delivery(shard, number, until);
                self.handle_reply(shard, number, reply);
            }
            ToConnection::Quiet(number) => {
                if let Some(pending) = self.session(shard).pending.remove(&number) {
                    let message = ConsumerMessage::Done(pending.weight);
                    self.effects.messages.push((consumer, message));
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
                if let Some(connection) = self.connections.get_mut(&consumer) {
                    match credit {
                        CreditChange::Wanted => connection.loans.set_wanting(shard),
                        CreditChange::Unwanted => connection.loans.clear_wanting(shard),
                        CreditChange::Returned(credit) => connection.loans.returned(shard, credit),
                    }
                    self.balance(consumer);
                }
            }
        }
    }

    /// The leader has answered a request.
    fn handle_reply(&mut self, shard: ShardId, number: RequestNumber, mut reply: Reply) {
        let Some(pending) = self.session(shard).pending.remove(&number) else {
            return;
        };
        let consumer = pending.consumer;
        let connection = self.connections.get_mut(&consumer);
        match (&pending.action, &mut reply, connection) {
            (
                ReplyAction::Register { mode, options, .. },
                Reply::Registered { route, credit },
                Some(connection),
            ) => {
                connection.registration_answered(*options, true);
                *credit = connection.credit();
                self.registered(consumer, shard, route, *mode);
                self.balance(consumer);
            }
            (
                ReplyAction::Register {
                    is_new, options, ..
                },
                Reply::Error(_),
                Some(_),
            ) => {
                self.not_registered(&pending, *is_new, *options);
            }
            (ReplyAction::ScheduleOnOwn, reply, Some(_)) => {
                let was_refused =
                    matches!(reply, Reply::Error(refusal) if refusal.code != Code::Unavailable);
                self.scheduled_on_own(consumer, was_refused);
                if let Some(route) = pending.route.as_ref().filter(|_| !was_refused) {
                    self.registered(consumer, shard, route, RegisterMode::Shared);
                }
            }
            (_, Reply::Unregistered { route, .. }, Some(_)) => {
                self.leave_route(consumer, route);
                self.return_waiting_copies(consumer, |of| of == &**route);
            }
            _ => {}
        }
        self.reply(pending, reply);
    }

    /// A registration has failed: what was noted for it is taken back.
    pub(super) fn not_registered(
        &mut self,
        pending: &PendingRequest,
        is_new: bool,
        options: Option<OptionsId>,
    ) {
        let consumer = pending.consumer;
        if let Some(connection) = self.connections.get_mut(&consumer) {
            connection.registration_answered(options, false);
        }
        if let Some(route) = pending.route.as_ref().filter(|_| is_new) {
            self.leave_route(consumer, route);
        }
        self.balance(consumer);
    }

    /// The delivery that a client has touched ends then, on the clock of its leader. The wall clocks
    /// of the two nodes can differ.
    fn extend_delivery(&mut self, shard: ShardId, number: RequestNumber, until_at_leader: Tick) {
        let session = &self.sessions[usize::from(shard.0)];
        let (Some(active), Some(pending)) = (session.active(), session.pending.get(&number)) else {
            return;
        };
        let ReplyAction::Touch(named) = &pending.action else {
            return;
        };
        let connection = self.connections.get_mut(&pending.consumer);
        let delivered = connection.and_then(|it| it.deliveries.find_mut(named));
        if let Some(delivered) = delivered {
            delivered.until = delivered.until.max(active.grant.to_local(until_at_leader));
            delivered.until_at_leader = delivered.until_at_leader.max(until_at_leader);
        }
    }

    /// A reply without a request: a route is taken.
    fn handle_notice(&mut self, consumer: ConsumerId, reply: Reply) {
        if let Reply::Unregistered {
            route,
            reason: Reason::Replaced,
        } = &reply
        {
            self.leave_route(consumer, route);
            self.return_waiting_copies(consumer, |of| of == &**route);
        }
        let message = ConsumerMessage::Reply {
            reply,
            tag: None,
            weight: 0,
        };
        self.effects.messages.push((consumer, message));
    }

    pub(super) fn deliver(&mut self, shard: ShardId, consumer: ConsumerId, copy: &ForwardedCopy) {
        let now = self.now.monotonic;
        let Some(active) = self.session(shard).active() else {
            return;
        };
        let delivered = active.delivered(copy);
        let Some(connection) = self.connections.get_mut(&consumer) else {
            return;
        };
        let id = &copy.revision.id;
        if connection.is_closing || connection.deliveries.has_namesake(id, &delivered) {
            // It comes again in the next round.
            let void = delivered.void_message(consumer, id.clone());
            return self.send_to(consumer, (id, delivered), void);
        }
        let credit = usize::from(connection.loans.credit());
        if connection.deliveries.len() > 2 * credit + 64 {
            connection.deliveries.prune(now);
        }
        if let Some(delivered) = connection.deliveries.add(id, delivered, now) {
            self.pass_to_connection(consumer, id, delivered);
        }
    }

    /// Passes a delivery to the connection.
    fn pass_to_connection(
        &mut self,
        consumer: ConsumerId,
        id: &Arc<str>,
        delivered: ServedDelivery,
    ) {
        let ServedDelivery {
            seq,
            route,
            attempt,
            until,
            write_by,
            authority,
            ..
        } = delivered;
        let Some(connection) = self.connections.get(&consumer) else {
            return;
        };
        let message = ConsumerMessage::Deliver {
            seq,
            route,
            id: id.clone(),
            attempt,
            until,
            write_by,
            expires_at: None,
            accept: connection.accept(),
            authority: Some(authority),
        };
        self.effects.messages.push((consumer, message));
    }

    /// An id is free on a connection: the next delivery of it is sent. It goes back to its leader if the
    /// connection is about to close, and if its task has expired, which the leader finds out by its own
    /// clock.
    pub(super) fn release(&mut self, consumer: ConsumerId, id: &Arc<str>) {
        if let Some(connection) = self.connections.get_mut(&consumer)
            && let Some(delivered) = connection.deliveries.release(id)
        {
            let now = self.now.monotonic;
            let has_expired = delivered.expires.is_some_and(|at| at <= now);
            if has_expired || connection.is_closing {
                let ServedDelivery { seq, attempt, .. } = delivered;
                let id = id.clone();
                return self
                    .report_unsent(CopyId { consumer, seq, id }, UnsentReason::Void { attempt });
            }
            self.pass_to_connection(consumer, id, delivered);
        }
    }

    /// Gives back the deliveries of some routes that have not been passed to a connection: it is
    /// closed, or has one of the routes no longer.
    pub(super) fn return_waiting_copies(
        &mut self,
        consumer: ConsumerId,
        is_of: impl Fn(&str) -> bool,
    ) {
        for shard in (0..self.setup.shards).map(ShardId) {
            let awaiting = self.session(shard).take_awaiting(|awaiting| {
                awaiting.consumer == consumer && is_of(&awaiting.copy.revision.route)
            });
            for AwaitingCopy { copy, .. } in awaiting {
                self.return_copy(shard, consumer, copy);
            }
        }
        let connection = self.connections.get_mut(&consumer);
        let held = connection.map(|it| it.deliveries.take_queued(|held| is_of(&held.route)));
        for (id, delivered) in held.into_iter().flatten() {
            let message = delivered.void_message(consumer, id.clone());
            self.send_to(consumer, (&id, delivered), message);
        }
    }

    /// Ends deliveries whose time has passed, and sends those that waited for their ids. Those whose
    /// turn has not come in time go back to their leaders.
    pub(super) fn expire_deliveries(&mut self) {
        let now = self.now.monotonic;
        let (mut expired, mut late) = (Vec::new(), Vec::new());
        for (consumer, connection) in &mut self.connections {
            let held = connection
                .deliveries
                .take_queued(|held| held.write_by <= now);
            late.extend(held.into_iter().map(|held| (*consumer, held)));
            let ids = connection.deliveries.expire(now);
            expired.extend(ids.into_iter().map(|id| (*consumer, id)));
        }
        for (consumer, (id, delivered)) in late {
            let message = delivered.unwritten_message(consumer, id.clone());
            self.send_to(consumer, (&id, delivered), message);
        }
        for (consumer, id) in expired {
            self.release(consumer, &id);
        }
    }

    /// Returns whether the delivery in flight is the one that this leadership has sent.
    pub(super) fn has_copy_of(&self, copy: &CopyId, authority: Option<&Arc<Authority>>) -> bool {
        let connection = self.connections.get(&copy.consumer);
        let sent_by = connection.and_then(|it| it.deliveries.authority(&copy.id));
        sent_by
            .zip(authority)
            .is_some_and(|(by, authority)| Arc::ptr_eq(by, authority))
    }

    /// A delivery was not written. Reports it to the leader that counts it as in flight.
    pub(super) fn report_unsent(&mut self, copy: CopyId, why: UnsentReason) {
        let CopyId { consumer, seq, id } = copy;
        let now = self.now.monotonic;
        let Some(connection) = self.connections.get_mut(&consumer) else {
            return;
        };
        let attempt = match why {
            UnsentReason::Unwritten { attempt }
            | UnsentReason::TooLate { attempt, .. }
            | UnsentReason::Void { attempt } => Some(attempt),
            UnsentReason::Gone | UnsentReason::Undeliverable(_) => None,
        };
        let Some(delivered) = connection.deliveries.remove(&id, seq, attempt) else {
            return;
        };
        connection.count_used(delivered.shard, now);
        let why = match why {
            UnsentReason::TooLate { attempt, .. } => UnsentReason::TooLate {
                attempt,
                until: delivered.until_at_leader,
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
        let connection = self.connections.get_mut(&consumer);
        match self.sessions[usize::from(delivered.shard.0)].active() {
            Some(active) if active.partner.epoch == delivered.epoch => {
                let (shard, now) = (delivered.shard, self.now.monotonic);
                let fate = DeliveryOutcome::NotAcked(id.clone(), delivered, message.clone());
                self.session(shard).unconfirmed.push(now, consumer, fate);
                self.send(shard, message);
            }
            Some(_) => {}
            None => {
                if let Some(connection) = connection {
                    connection.deliveries.defer(id, delivered, message);
                }
            }
        }
    }

    /// Refuses a request.
    pub(super) fn refuse(&mut self, to: PendingRequest, refusal: Refusal) {
        self.reply(to, Reply::Error(refusal));
    }
}
