//! What leaders say.

use std::sync::Arc;

use race_wheel::Tick;

use super::{
    Forwarder,
    deliveries::Delivered,
    session::{Awaiting, Pending, What},
    untold::Fate,
    wire::{Copy, NotSent, Number, ToLeader, ToServing, Told, Why},
    wishes::WishId,
};
use crate::{ShardId, log::NodeName};
use hyper_delay_engine::{
    authority::Authority,
    scheduler::{ConsumerId, CopyOf, Credit, Message},
};
use hyper_delay_protocol::{Code, Mode, Reason, Refusal, Reply};

impl Forwarder {
    pub(super) fn told(&mut self, node: &NodeName, shard: ShardId, told: ToServing) {
        match told {
            ToServing::Accepted { epoch, holds } => self.accepted(node, shard, epoch, holds),
            ToServing::Refused { epoch } => self.refused(node, shard, epoch),
            ToServing::Holds { epoch, holds } => self.holds(node, shard, epoch, holds),
            ToServing::Ended { epoch } => self.ended(node, shard, epoch),
            ToServing::Told(consumer, told) => {
                let up = self.session(shard).up();
                if up.is_some_and(|up| up.partner.node == *node) {
                    self.connection_told(shard, consumer, told);
                }
            }
        }
    }

    fn connection_told(&mut self, shard: ShardId, consumer: ConsumerId, told: Told) {
        match told {
            Told::Reply(number, reply) => self.answered(shard, number, reply),
            Told::Touched(number, reply, until) => {
                self.extended(shard, number, until);
                self.answered(shard, number, reply);
            }
            Told::Quiet(number) => {
                if let Some(pending) = self.session(shard).pending.remove(&number) {
                    let message = Message::Quiet(pending.weight);
                    self.effects.messages.push((consumer, message));
                }
            }
            Told::Looked(number, looked) => self.looked(shard, number, looked),
            Told::News(reply) => self.news(consumer, reply),
            Told::Deliver(copy) => {
                self.session(shard).has_heard(copy.number);
                self.copy(shard, consumer, *copy);
            }
            Told::Credit(credit) => {
                if let Some(connection) = self.connections.get_mut(&consumer) {
                    match credit {
                        Credit::Wanted => connection.lending.wanted(shard),
                        Credit::Sated => connection.lending.sated(shard),
                        Credit::Returned(credit) => connection.lending.returned(shard, credit),
                    }
                    self.balance(consumer);
                }
            }
        }
    }

    /// The leader has answered a request.
    fn answered(&mut self, shard: ShardId, number: Number, mut reply: Reply) {
        let Some(pending) = self.session(shard).pending.remove(&number) else {
            return;
        };
        let consumer = pending.consumer;
        let connection = self.connections.get_mut(&consumer);
        match (&pending.what, &mut reply, connection) {
            (
                What::Register { mode, wish, .. },
                Reply::Registered { route, credit },
                Some(connection),
            ) => {
                connection.is_registered(*wish, true);
                *credit = connection.credit();
                self.registered(consumer, shard, route, *mode);
                self.balance(consumer);
            }
            (What::Register { is_new, wish, .. }, Reply::Error(_), Some(_)) => {
                self.not_registered(&pending, *is_new, *wish);
            }
            (What::ScheduleOnOwn, reply, Some(_)) => {
                let was_refused =
                    matches!(reply, Reply::Error(refusal) if refusal.code != Code::Unavailable);
                self.scheduled_on_own(consumer, was_refused);
                if let Some(route) = pending.route.as_ref().filter(|_| !was_refused) {
                    self.registered(consumer, shard, route, Mode::Shared);
                }
            }
            (_, Reply::Unregistered { route, .. }, Some(_)) => {
                self.leave(consumer, route);
                self.gives_back_waiting(consumer, |of| of == &**route);
            }
            _ => {}
        }
        self.reply(pending, reply);
    }

    /// A registration has failed: what was noted for it is taken back.
    pub(super) fn not_registered(&mut self, pending: &Pending, is_new: bool, wish: Option<WishId>) {
        let consumer = pending.consumer;
        if let Some(connection) = self.connections.get_mut(&consumer) {
            connection.is_registered(wish, false);
        }
        if let Some(route) = pending.route.as_ref().filter(|_| is_new) {
            self.leave(consumer, route);
        }
        self.balance(consumer);
    }

    /// The delivery that a client has touched ends then, on the clock of its leader. The wall clocks
    /// of the two nodes can differ.
    fn extended(&mut self, shard: ShardId, number: Number, until_there: Tick) {
        let session = &self.sessions[usize::from(shard.0)];
        let (Some(up), Some(pending)) = (session.up(), session.pending.get(&number)) else {
            return;
        };
        let What::Touch(named) = &pending.what else {
            return;
        };
        let connection = self.connections.get_mut(&pending.consumer);
        let delivered = connection.and_then(|it| it.deliveries.named_mut(named));
        if let Some(delivered) = delivered {
            delivered.until = delivered.until.max(up.holds.here(until_there));
            delivered.until_there = delivered.until_there.max(until_there);
        }
    }

    /// News without a request: a route is taken.
    fn news(&mut self, consumer: ConsumerId, reply: Reply) {
        if let Reply::Unregistered {
            route,
            reason: Reason::Replaced,
        } = &reply
        {
            self.leave(consumer, route);
            self.gives_back_waiting(consumer, |of| of == &**route);
        }
        let message = Message::Reply {
            reply,
            tag: None,
            weight: 0,
        };
        self.effects.messages.push((consumer, message));
    }

    pub(super) fn deliver(&mut self, shard: ShardId, consumer: ConsumerId, copy: &Copy) {
        let now = self.now.monotonic;
        let Some(up) = self.session(shard).up() else {
            return;
        };
        let delivered = up.delivered(copy);
        let Some(connection) = self.connections.get_mut(&consumer) else {
            return;
        };
        let id = &copy.subject.id;
        if connection.is_closing || connection.deliveries.has_namesake(id, &delivered) {
            // It comes again in the next round.
            let void = delivered.was_void(consumer, id.clone());
            return self.send_to(consumer, (id, delivered), void);
        }
        let credit = usize::from(connection.lending.credit());
        if connection.deliveries.len() > 2 * credit + 64 {
            connection.deliveries.prune(now);
        }
        if let Some(delivered) = connection.deliveries.add(id, delivered, now) {
            self.push(consumer, id, delivered);
        }
    }

    /// Passes a delivery to the connection.
    fn push(&mut self, consumer: ConsumerId, id: &Arc<str>, delivered: Delivered) {
        let Delivered {
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
        let message = Message::Deliver {
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
                let Delivered { seq, attempt, .. } = delivered;
                let id = id.clone();
                return self.not_sent(CopyOf { consumer, seq, id }, Why::Void { attempt });
            }
            self.push(consumer, id, delivered);
        }
    }

    /// Gives back the deliveries of some routes that have not been passed to a connection: it is
    /// closed, or has one of the routes no longer.
    pub(super) fn gives_back_waiting(
        &mut self,
        consumer: ConsumerId,
        is_of: impl Fn(&str) -> bool,
    ) {
        for shard in (0..self.setup.shards).map(ShardId) {
            let awaiting = self.session(shard).take_awaiting(|awaiting| {
                awaiting.consumer == consumer && is_of(&awaiting.copy.subject.route)
            });
            for Awaiting { copy, .. } in awaiting {
                self.gives_back(shard, consumer, copy);
            }
        }
        let connection = self.connections.get_mut(&consumer);
        let held = connection.map(|it| it.deliveries.take_held(|held| is_of(&held.route)));
        for (id, delivered) in held.into_iter().flatten() {
            let message = delivered.was_void(consumer, id.clone());
            self.send_to(consumer, (&id, delivered), message);
        }
    }

    /// Ends deliveries whose time has passed, and sends those that waited for their ids. Those whose
    /// turn has not come in time go back to their leaders.
    pub(super) fn expire_deliveries(&mut self) {
        let now = self.now.monotonic;
        let (mut expired, mut late) = (Vec::new(), Vec::new());
        for (consumer, connection) in &mut self.connections {
            let held = connection.deliveries.take_held(|held| held.write_by <= now);
            late.extend(held.into_iter().map(|held| (*consumer, held)));
            let ids = connection.deliveries.expire(now);
            expired.extend(ids.into_iter().map(|id| (*consumer, id)));
        }
        for (consumer, (id, delivered)) in late {
            let message = delivered.was_unwritten(consumer, id.clone());
            self.send_to(consumer, (&id, delivered), message);
        }
        for (consumer, id) in expired {
            self.release(consumer, &id);
        }
    }

    /// Returns whether the delivery in flight is the one that this leadership has sent.
    pub(super) fn has_copy_of(&self, copy: &CopyOf, authority: Option<&Arc<Authority>>) -> bool {
        let connection = self.connections.get(&copy.consumer);
        let sent_by = connection.and_then(|it| it.deliveries.authority(&copy.id));
        sent_by
            .zip(authority)
            .is_some_and(|(by, authority)| Arc::ptr_eq(by, authority))
    }

    /// A delivery was not written. The leader that counts it as in flight is told.
    pub(super) fn not_sent(&mut self, copy: CopyOf, why: Why) {
        let CopyOf { consumer, seq, id } = copy;
        let now = self.now.monotonic;
        let Some(connection) = self.connections.get_mut(&consumer) else {
            return;
        };
        let attempt = match why {
            Why::Unwritten { attempt } | Why::TooLate { attempt, .. } | Why::Void { attempt } => {
                Some(attempt)
            }
            Why::Gone | Why::Undeliverable(_) => None,
        };
        let Some(delivered) = connection.deliveries.remove(&id, seq, attempt) else {
            return;
        };
        connection.count_used(delivered.shard, now);
        let why = match why {
            Why::TooLate { attempt, .. } => Why::TooLate {
                attempt,
                until: delivered.until_there,
            },
            why => why,
        };
        let not_sent = NotSent {
            seq,
            id: id.clone(),
            why,
        };
        let message = ToLeader::NotSent(consumer, not_sent);
        self.send_to(consumer, (&id, delivered), message);
        self.balance(consumer);
        self.release(consumer, &id);
    }

    /// Sends what has become of a delivery to the leader that counts it as in flight, now or once
    /// there is a link again.
    pub(super) fn send_to(
        &mut self,
        consumer: ConsumerId,
        (id, delivered): (&Arc<str>, Delivered),
        message: ToLeader,
    ) {
        let connection = self.connections.get_mut(&consumer);
        match self.sessions[usize::from(delivered.shard.0)].up() {
            Some(up) if up.partner.epoch == delivered.epoch => {
                let (shard, now) = (delivered.shard, self.now.monotonic);
                let fate = Fate::NotDone(id.clone(), delivered, message.clone());
                self.session(shard).untold.sent(now, consumer, fate);
                self.send(shard, message);
            }
            Some(_) => {}
            None => {
                if let Some(connection) = connection {
                    connection.deliveries.cannot_say(id, delivered, message);
                }
            }
        }
    }

    /// Refuses a request.
    pub(super) fn refuse(&mut self, to: Pending, refusal: Refusal) {
        self.reply(to, Reply::Error(refusal));
    }
}
