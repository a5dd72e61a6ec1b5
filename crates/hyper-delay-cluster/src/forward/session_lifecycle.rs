//! Sessions begin and end.

use std::sync::Arc;

use race_wheel::Tick;

use super::{
    Forwarder,
    deliveries::adopted,
    leader_session::{
        ActiveSession, LeaderSession, LeaderSessionState, NEVER, PendingRequest, QueueableRequest,
        ReplyAction, SessionPartner, TaskContents,
    },
    unconfirmed::DeliveryOutcome,
    wire::{LeadershipGrant, ToLeader},
};
use crate::{
    ShardId,
    log::{Leader, NodeName},
};
use hyper_delay_engine::{authority::Authority, clock::nanos, scheduler::UnansweredDelivery};
use hyper_delay_protocol::RegisterMode;

const UNKNOWN: &str = "the leader of the shard of this route is gone, and it is not known whether \
    the request took effect: send it again with the same id";

impl Forwarder {
    /// Advances the session of each shard.
    pub(super) fn advance_sessions(&mut self) {
        for shard in (0..self.setup.shards).map(ShardId) {
            self.expire_requests(shard);
            self.check_contents(shard);
            let now = self.now.monotonic;
            let (lease, answer) = (self.now_minus(1), self.now_minus(4));
            let is_silent = match &self.session(shard).state {
                LeaderSessionState::Down(_) => false,
                LeaderSessionState::Requested(_, since) => *since <= answer,
                LeaderSessionState::Active(active) => active.last_reply <= lease,
            };
            if is_silent {
                self.end_session(shard);
            }
            match &self.session(shard).state {
                LeaderSessionState::Down(next) if *next <= now => self.request_session(shard),
                LeaderSessionState::Active(active) if active.next_ping <= now => self.ping(shard),
                _ => {}
            }
        }
    }

    /// Returns the moment a part of the lease ago.
    pub(super) fn now_minus(&self, part: u32) -> Tick {
        let ago = nanos(self.setup.lease / part);
        Tick::new(self.now.monotonic.value().saturating_sub(ago))
    }

    /// Returns when a session has something to do.
    pub(super) fn next_session_event(&self, session: &LeaderSession) -> Option<Tick> {
        let lease = nanos(self.setup.lease);
        let state = match &session.state {
            LeaderSessionState::Down(next) => session.leader.as_ref().map(|_| *next),
            LeaderSessionState::Requested(_, since) => Some(*since + lease / 4),
            LeaderSessionState::Active(active) => {
                Some(active.next_ping.min(active.last_reply + lease))
            }
        };
        let awaiting = session.awaits_since().map(|since| since + lease / 2);
        let awaiting = awaiting.into_iter().chain(session.awaits_until());
        // All wait equally long, so the first one that expires is the next.
        let mut queued = session.queue.iter().map(|queued| queued.expires);
        let queued = queued.find(|expires| *expires != NEVER);
        state.into_iter().chain(queued).chain(awaiting).min()
    }

    /// This leads the shard, or did until a moment ago. A session lasts until its leader says
    /// that it has ended, is silent, or has a successor.
    pub(super) fn set_leader(&mut self, shard: ShardId, leader: Option<Leader>) {
        let now = self.now.monotonic;
        let session = self.session(shard);
        let Some(leader) = leader else {
            if session.partner().is_none() {
                session.leader = None;
            }
            return;
        };
        let known = session.leader.as_ref().map(|leader| leader.epoch);
        if known.is_some_and(|known| known > leader.epoch) {
            return;
        }
        if known != Some(leader.epoch) {
            session.try_now(now);
        }
        let partner = session.partner();
        let is_succeeded = partner.is_some_and(|partner| partner.epoch < leader.epoch);
        session.leader = Some(leader);
        if is_succeeded {
            self.end_session(shard);
        }
    }

    pub(super) fn linked(&mut self, node: NodeName) {
        let now = self.now.monotonic;
        for session in &mut self.sessions {
            let leader = session.leader.as_ref();
            if leader.is_some_and(|leader| leader.member.node == node) {
                session.try_now(now);
            }
        }
        self.linked.insert(node);
    }

    pub(super) fn unlinked(&mut self, node: &NodeName) {
        self.linked.remove(node);
        for shard in (0..self.setup.shards).map(ShardId) {
            let partner = self.session(shard).partner();
            if partner.is_some_and(|partner| partner.node == *node) {
                self.end_session(shard);
            }
        }
    }

    /// Asks the leader for a session.
    fn request_session(&mut self, shard: ShardId) {
        self.recount_used(shard);
        let now = self.now;
        let next = now.after(self.setup.pause());
        let Self {
            sessions, linked, ..
        } = self;
        let session = &mut sessions[usize::from(shard.0)];
        let leader = session.leader.as_ref();
        let leader = leader.filter(|leader| linked.contains(&leader.member.node));
        let Some(leader) = leader else {
            session.state = LeaderSessionState::Down(next);
            return;
        };
        let partner = SessionPartner {
            node: leader.member.node.clone(),
            epoch: leader.epoch,
        };
        let epoch = partner.epoch;
        session.state = LeaderSessionState::Requested(partner, now.monotonic);
        let begin = ToLeader::Begin {
            epoch,
            node: self.setup.node.clone(),
            sent: now.monotonic,
            last_copy: session.last_copy(epoch),
        };
        self.send(shard, begin);
    }

    pub(super) fn session_refused(&mut self, node: &NodeName, shard: ShardId, epoch: u64) {
        let next = self.now.after(self.setup.pause());
        let session = self.session(shard);
        if let LeaderSessionState::Requested(partner, _) = &session.state
            && (&partner.node, partner.epoch) == (node, epoch)
        {
            session.state = LeaderSessionState::Down(next);
        }
    }

    /// The leader has begun a session: it gets the connections, and what has waited.
    pub(super) fn session_accepted(
        &mut self,
        node: &NodeName,
        shard: ShardId,
        epoch: u64,
        grant: LeadershipGrant,
    ) {
        let now = self.now;
        let session = self.session(shard);
        let LeaderSessionState::Requested(partner, sent) = &session.state else {
            return;
        };
        // The answer to an earlier question names a session that the leader ends when it reads the
        // last one: until then it can use up credit that is lent anew here.
        if (&partner.node, partner.epoch, *sent) != (node, epoch, grant.asked_at) {
            return;
        }
        session.state = LeaderSessionState::Active(ActiveSession {
            partner: partner.clone(),
            authority: Arc::new(Authority::new(shard.0, grant.to_local(grant.until))),
            grant,
            last_reply: now.monotonic,
            next_ping: now.monotonic,
            lends: false,
        });
        session.accept(epoch);
        if self.is_ending {
            self.send(shard, ToLeader::Ending);
        }
        self.introduce_connections(shard, epoch);
        let queue = std::mem::take(&mut self.session(shard).queue);
        for queued in queue {
            self.forward(shard, queued.consumer, queued.request);
        }
        self.send(shard, ToLeader::Ready);
        self.lend_to(shard);
    }

    /// Tells a new leader of the connections that have to do with its shard. It can deliver to them
    /// when they have credit, after it has got the acks.
    fn introduce_connections(&mut self, shard: ShardId, epoch: u64) {
        let is_here = self.session(shard).contents == TaskContents::Available;
        let now = self.now.monotonic;
        let (mut messages, mut without, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
        for (consumer, served) in &mut self.served {
            let consumer = *consumer;
            let deferred = served.take_deferred(shard, epoch);
            let in_flight = self
                .front
                .in_flight_mut(consumer, |it| it.origin.shard == shard && it.until > now);
            let in_flight = in_flight.into_iter().map(|(id, delivered)| {
                delivered.origin.epoch = epoch;
                adopted(delivered, id, now)
            });
            let in_flight: Vec<UnansweredDelivery> = in_flight.collect();
            let routes = self.front.routes_of(consumer, shard);
            let routes: Vec<(Arc<str>, RegisterMode)> =
                routes.map(|(route, mode)| (route.clone(), mode)).collect();
            if routes.is_empty() && in_flight.is_empty() && deferred.is_empty() {
                self.front.remove_loan(consumer, shard);
                without.push(consumer);
                continue;
            }
            served.open_at(shard);
            messages.push(ToLeader::Opened(consumer));
            // The leader counts a copy as in flight until it gets its outcome, and an id
            // once at a time.
            for (id, delivered, message) in deferred {
                let adopted = vec![adopted(&delivered, &id, now)];
                messages.extend([ToLeader::Adopted(consumer, adopted), message.clone()]);
                repeated.push((consumer, DeliveryOutcome::NotAcked(id, delivered, message)));
            }
            if !in_flight.is_empty() {
                messages.push(ToLeader::Adopted(consumer, in_flight));
            }
            // Without the contents a connection takes no copies, but its own route has a consumer: its
            // tasks are not orphaned.
            let own = self.front.own_route(consumer).cloned();
            let is_bound = |route: &Arc<str>| is_here || own.as_ref() == Some(route);
            let is_closing = self.front.is_closing(consumer);
            if is_closing || !is_here {
                messages.push(ToLeader::Closing(consumer));
            }
            if is_closing {
                continue;
            }
            let bound = routes.into_iter().filter(|(route, _)| is_bound(route));
            messages.extend(bound.map(|(route, mode)| ToLeader::Bound(consumer, route, mode)));
        }
        for message in messages {
            self.send(shard, message);
        }
        // This link can break, too.
        for (consumer, fate) in repeated {
            self.session(shard).unconfirmed.push(now, consumer, fate);
        }
        for consumer in without {
            self.balance(consumer);
        }
    }

    fn ping(&mut self, shard: ShardId) {
        let sent = self.now.monotonic;
        let next_ping = self.now.after(self.setup.ping());
        let session = self.session(shard);
        if let Some(active) = session.active_mut() {
            active.next_ping = next_ping;
            let epoch = active.partner.epoch;
            let last_copy = session.last_copy(epoch).unwrap_or(0);
            self.send(shard, ToLeader::Ping { sent, last_copy });
        }
    }

    pub(super) fn session_granted(
        &mut self,
        node: &NodeName,
        shard: ShardId,
        epoch: u64,
        grant: LeadershipGrant,
    ) {
        let now = self.now.monotonic;
        let session = self.session(shard);
        if let Some(active) = session.active_with(node, epoch) {
            active.last_reply = now;
            active.grant = grant;
            active.authority.extend(grant.to_local(grant.until));
            session.unconfirmed.confirm_before(grant.asked_at);
        }
    }

    /// The leader reports the end of its leadership.
    pub(super) fn session_ended(&mut self, node: &NodeName, shard: ShardId, epoch: u64) {
        let partner = self.session(shard).partner();
        if partner.is_some_and(|it| it.node == *node && it.epoch == epoch) {
            self.session(shard).leader = None;
            self.end_session(shard);
        }
        let released = ToLeader::Released { epoch };
        self.effects
            .to_leaders
            .push((node.clone(), shard, released));
    }

    /// Ends a session. What the leader has not answered is answered here.
    pub(super) fn end_session(&mut self, shard: ShardId) {
        let now = self.now.monotonic;
        let session = self.session(shard);
        let before = std::mem::replace(&mut session.state, LeaderSessionState::Down(now));
        let awaiting = std::mem::take(&mut session.awaiting_copies);
        let pending = std::mem::take(&mut session.pending);
        if let LeaderSessionState::Active(active) = before {
            session.ended = now;
            self.requeue_unconfirmed(shard);
            self.defer_undelivered(&active, awaiting.into_values().flatten());
            active.authority.revoke();
            self.effects.revoked.push(active.authority);
        }
        for (_, pending) in pending {
            self.give_up(shard, pending, UNKNOWN);
        }
        for consumer in self.opened_at(shard) {
            if let Some(served) = self.served.get_mut(&consumer) {
                served.close_at(shard);
            }
            let used = self.front.used(consumer, now, |it| it.shard == shard);
            self.front.close_loan(consumer, shard, used);
            self.balance(consumer);
        }
    }

    /// Refuses what has waited too long for a leader.
    fn expire_requests(&mut self, shard: ShardId) {
        let now = self.now.monotonic;
        let session = self.session(shard);
        let is_over = |at: Tick| at <= now;
        let mut expire = session.queue.iter().map(|queued| queued.expires);
        if !expire.find(|at| *at != NEVER).is_some_and(is_over) {
            return;
        }
        let mut expired = Vec::new();
        for queued in std::mem::take(&mut session.queue) {
            if !is_over(queued.expires) {
                session.queue.push_back(queued);
                continue;
            }
            match queued.request {
                QueueableRequest::Request(_, pending) => expired.push(pending),
                // Without a reply it never expires.
                QueueableRequest::Ack(_, delivered, pending) => {
                    expired.extend(pending.map(|pending| PendingRequest {
                        action: ReplyAction::Ack(delivered),
                        ..pending
                    }));
                }
            }
        }
        for pending in expired {
            self.give_up(shard, pending, &self.no_leader());
        }
    }
}
