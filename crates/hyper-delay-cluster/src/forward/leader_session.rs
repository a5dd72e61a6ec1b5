//! The session of this node with the leader of a shard.

mod active_session;
mod pending_requests;
mod request_queue;
mod session_state;
mod session_times;

pub(super) use self::{
    active_session::ActiveSession,
    pending_requests::{PendingRequest, ReplyAction},
    request_queue::QueueableRequest,
    session_state::SessionPartner,
};

use std::{collections::BTreeSet, time::Duration};

use race_wheel::Tick;

use self::{
    pending_requests::PendingRequests, request_queue::RequestQueue, session_state::SessionState,
    session_times::SessionTimes,
};
use super::{
    leader_queries::QueryId,
    served_connections::DeferredOutcome,
    unconfirmed::{DeliveryOutcome, UnconfirmedOutcomes},
    wire::{LeadershipGrant, ToLeader},
};
use crate::{
    ShardId,
    log::{Leader, NodeName},
};
use hyper_delay_engine::scheduler::{ConsumerId, RequestNumber};

/// See the [module](self).
///
/// What the leader may not have taken or answered ([`PendingRequests`], [`UnconfirmedOutcomes`]) is
/// empty unless the session lasts.
#[derive(Debug)]
pub(super) struct LeaderSession {
    shard: ShardId,
    times: SessionTimes,
    /// The leader of the shard, as far as this node knows.
    leader: Option<Leader>,
    state: SessionState,
    /// When the last session ended; at first, when this node began.
    ended: Tick,
    queue: RequestQueue,
    unconfirmed: UnconfirmedOutcomes,
    pending: PendingRequests,
    /// The latest leadership that has accepted a session, and the number of the last copy that has
    /// arrived of it.
    last_copy: Option<(u64, u64)>,
}

/// What is left of a session that has ended.
#[derive(Debug)]
pub(super) struct EndedSession {
    /// The session, if it had begun.
    pub(super) active: Option<ActiveSession>,
    /// Deliveries that were given back or not sent, which the leader may not know.
    pub(super) unconfirmed: Vec<(ConsumerId, DeferredOutcome)>,
    /// The requests that the leader has not answered.
    pub(super) pending: Vec<PendingRequest>,
}

/// The life of a session.
impl LeaderSession {
    pub(super) fn new(shard: ShardId, lease: Duration, now: Tick) -> Self {
        Self {
            shard,
            times: SessionTimes::new(lease),
            leader: None,
            state: SessionState::Down(now),
            ended: now,
            queue: RequestQueue::new(lease),
            unconfirmed: UnconfirmedOutcomes::default(),
            pending: PendingRequests::default(),
            last_copy: None,
        }
    }

    /// The leader of the shard, as the log says it. Returns whether the session is with an earlier one:
    /// then it must end.
    pub(super) fn set_leader(&mut self, leader: Option<Leader>, now: Tick) -> bool {
        let Some(leader) = leader else {
            if self.partner().is_none() {
                self.leader = None;
            }
            return false;
        };
        let known = self.leader.as_ref().map(|leader| leader.epoch);
        if known.is_some_and(|known| known > leader.epoch) {
            return false;
        }
        if known != Some(leader.epoch) {
            self.state.try_now(now);
        }
        let partner = self.partner();
        let is_succeeded = partner.is_some_and(|partner| partner.epoch < leader.epoch);
        self.leader = Some(leader);
        is_succeeded
    }

    /// There is a link to a node, which is asked now if it leads the shard.
    pub(super) fn linked(&mut self, node: &NodeName, now: Tick) {
        let leader = self.leader.as_ref();
        if leader.is_some_and(|leader| leader.member.node == *node) {
            self.state.try_now(now);
        }
    }

    /// Returns whether the leader has not answered for too long.
    pub(super) fn is_silent(&self, now: Tick) -> bool {
        self.state.is_silent(self.times, now)
    }

    /// Returns whether a leader must be asked for a session.
    pub(super) fn is_request_due(&self, now: Tick) -> bool {
        self.state.is_request_due(now)
    }

    /// Asks the leader for a session with this node, if there is a link to it. Returns the message.
    pub(super) fn request(
        &mut self,
        node: &NodeName,
        linked: &BTreeSet<NodeName>,
        now: Tick,
    ) -> Option<ToLeader> {
        let leader = self.leader.as_ref();
        let leader = leader.filter(|leader| linked.contains(&leader.member.node));
        let Some(leader) = leader else {
            self.state = SessionState::Down(now + self.times.pause);
            return None;
        };
        let partner = SessionPartner {
            node: leader.member.node.clone(),
            epoch: leader.epoch,
        };
        let epoch = partner.epoch;
        self.state = SessionState::Requested(partner, now);
        Some(ToLeader::Begin {
            epoch,
            node: node.clone(),
            sent: now,
            last_copy: self.last_copy(epoch),
        })
    }

    /// The leader has refused a session.
    pub(super) fn refused(&mut self, node: &NodeName, epoch: u64, now: Tick) {
        if let SessionState::Requested(partner, _) = &self.state
            && partner.is(node, epoch)
        {
            self.state = SessionState::Down(now + self.times.pause);
        }
    }

    /// The leader has accepted a session. Returns whether it begins.
    pub(super) fn accepted(
        &mut self,
        node: &NodeName,
        epoch: u64,
        grant: LeadershipGrant,
        now: Tick,
    ) -> bool {
        let SessionState::Requested(partner, sent) = &self.state else {
            return false;
        };
        // The answer to an earlier question names a session that the leader ends when it reads the
        // last one: until then it can use up credit that is lent anew here.
        if !partner.is(node, epoch) || *sent != grant.asked_at {
            return false;
        }
        let active = ActiveSession::new(self.shard, partner.clone(), grant, now);
        self.state = SessionState::Active(active);
        self.last_copy = Some((epoch, self.last_copy(epoch).unwrap_or(0)));
        true
    }

    /// Returns a ping for the leader, if it is due.
    pub(super) fn ping(&mut self, now: Tick) -> Option<ToLeader> {
        let times = self.times;
        let active = self.state.active_mut()?;
        let epoch = active.partner().epoch;
        active.take_ping(times, now).then(|| ToLeader::Ping {
            sent: now,
            last_copy: self.last_copy(epoch).unwrap_or(0),
        })
    }

    /// The leader has answered a ping: it has taken everything that was sent before.
    pub(super) fn granted(
        &mut self,
        node: &NodeName,
        epoch: u64,
        grant: LeadershipGrant,
        now: Tick,
    ) {
        if let SessionState::Active(active) = &mut self.state
            && active.partner().is(node, epoch)
        {
            active.granted(grant, now);
            self.unconfirmed.confirm_before(grant.asked_at);
        }
    }

    /// A leadership has ended. Returns whether the session is with it: then it must end.
    pub(super) fn leadership_ended(&mut self, node: &NodeName, epoch: u64) -> bool {
        let partner = self.partner();
        let is_it = partner.is_some_and(|partner| partner.is(node, epoch));
        if is_it {
            self.leader = None;
        }
        is_it
    }

    /// Ends the session. Acks that the leader may not have taken wait for the next one.
    pub(super) fn end(&mut self, now: Tick) -> EndedSession {
        let mut ended = EndedSession {
            active: None,
            unconfirmed: Vec::new(),
            pending: self.pending.take().collect(),
        };
        let before = std::mem::replace(&mut self.state, SessionState::Down(now));
        let SessionState::Active(active) = before else {
            return ended;
        };
        self.ended = now;
        ended.active = Some(active);
        for (consumer, outcome) in self.unconfirmed.take() {
            match outcome {
                DeliveryOutcome::Acked(revision, delivered) => {
                    let ack = QueueableRequest::Ack(revision, delivered, None);
                    self.queue.push(consumer, ack, now);
                }
                DeliveryOutcome::NotAcked(id, delivered, message) => {
                    let outcome = (id, delivered, message);
                    ended.unconfirmed.push((consumer, outcome));
                }
            }
        }
        ended
    }

    /// Returns when the session has something to do.
    pub(super) fn next_event(&self) -> Option<Tick> {
        // Without a leader, there is none to ask.
        let has_partner = self.leader.is_some() || self.partner().is_some();
        let state = has_partner.then(|| self.state.next_event(self.times));
        state.into_iter().chain(self.queue.next_expiry()).min()
    }

    /// Returns whether there was no session within the last lease.
    pub(super) fn is_unreachable(&self, now: Tick) -> bool {
        self.active().is_none() && self.ended + self.times.lease <= now
    }

    /// Returns the leadership that the session is with, or is about to be with.
    pub(super) const fn partner(&self) -> Option<&SessionPartner> {
        self.state.partner()
    }

    /// Returns the session, if it lasts.
    pub(super) const fn active(&self) -> Option<&ActiveSession> {
        self.state.active()
    }
}

/// What a session carries.
impl LeaderSession {
    /// Returns whether the connections lend the leader credit.
    pub(super) fn lends(&self) -> bool {
        self.active().is_some_and(ActiveSession::lends)
    }

    /// The leader has got everything from before: the connections lend it credit from now on.
    pub(super) const fn start_lending(&mut self) {
        if let Some(active) = self.state.active_mut() {
            active.start_lending();
        }
    }

    /// The connections take no copies until the next session.
    pub(super) const fn stop_lending(&mut self) {
        if let Some(active) = self.state.active_mut() {
            active.stop_lending();
        }
    }

    /// Returns the number of the last copy of a leadership that has arrived, if there was a session
    /// with it.
    fn last_copy(&self, epoch: u64) -> Option<u64> {
        let copy = self.last_copy.filter(|(of, _)| *of == epoch);
        copy.map(|(_, number)| number)
    }

    /// A copy with that number has arrived.
    pub(super) const fn note_copy(&mut self, number: u64) {
        if let Some((_, last)) = &mut self.last_copy {
            *last = number;
        }
    }

    /// Lets something wait for a leader.
    pub(super) fn wait(&mut self, consumer: ConsumerId, request: QueueableRequest, now: Tick) {
        self.queue.push(consumer, request, now);
    }

    /// There is a leader: removes and returns what has waited for it.
    pub(super) fn take_queue(
        &mut self,
    ) -> impl Iterator<Item = (ConsumerId, QueueableRequest)> + use<> {
        self.queue.take()
    }

    /// Removes and returns the requests that have waited too long for a leader.
    pub(super) fn expire_requests(&mut self, now: Tick) -> Vec<PendingRequest> {
        self.queue.expire(now)
    }

    /// Adds a request that the leader has. Returns its number.
    pub(super) fn number(&mut self, request: PendingRequest) -> RequestNumber {
        self.pending.add(request)
    }

    /// Returns a request that the leader has and has not answered.
    pub(super) fn pending(&self, number: RequestNumber) -> Option<&PendingRequest> {
        self.pending.get(number)
    }

    /// The leader has answered a request, which is removed and returned.
    pub(super) fn answered(&mut self, number: RequestNumber) -> Option<PendingRequest> {
        self.pending.answered(number)
    }

    /// The leader has answered a query, whose number is returned.
    pub(super) fn answered_query(&mut self, number: RequestNumber) -> Option<QueryId> {
        match self.answered(number)?.action {
            ReplyAction::Query(id) => Some(id),
            _ => None,
        }
    }

    /// The leader is sent the outcome of a delivery, which it may not receive.
    pub(super) fn sent(&mut self, consumer: ConsumerId, outcome: DeliveryOutcome, now: Tick) {
        self.unconfirmed.push(now, consumer, outcome);
    }

    /// Returns whether no client waits for an answer. An ack without a reply can wait for a leader
    /// for ever; without it the task is delivered again.
    pub(super) fn awaits_no_answer(&self) -> bool {
        self.pending.is_empty() && self.queue.awaits_no_reply()
    }
}

#[cfg(test)]
mod tests;
