//! Sessions begin and end.

use super::{
    Forwarder,
    deliveries::void_message,
    leader_session::ActiveSession,
    served_connections::DeferredOutcome,
    task_contents::ReceivedCopy,
    wire::{LeadershipGrant, ToLeader},
};
use crate::{
    ShardId,
    log::{Leader, NodeName},
};
use hyper_delay_engine::{front::NoAnswer, scheduler::ConsumerId};

const UNKNOWN: &str = "the leader of the shard of this route is gone, and it is not known whether \
    the request took effect: send it again with the same id";

impl Forwarder {
    /// Advances the session of each shard.
    pub(super) fn advance_sessions(&mut self) {
        let now = self.now.monotonic;
        for shard in (0..self.shards).map(ShardId) {
            self.expire_requests(shard);
            self.check_contents(shard);
            if self.session(shard).is_silent(now) {
                self.end_session(shard);
            }
            if self.session(shard).is_request_due(now) {
                self.request_session(shard);
            }
            if let Some(ping) = self.session(shard).ping(now) {
                self.send(shard, ping);
            }
        }
    }

    /// This leads the shard, or did until a moment ago. A session lasts until its leader says
    /// that it has ended, is silent, or has a successor.
    pub(super) fn set_leader(&mut self, shard: ShardId, leader: Option<Leader>) {
        let now = self.now.monotonic;
        if self.session(shard).set_leader(leader, now) {
            self.end_session(shard);
        }
    }

    pub(super) fn unlinked(&mut self, node: &NodeName) {
        for shard in self.sessions.unlinked(node) {
            self.end_session(shard);
        }
    }

    /// Asks the leader for a session.
    fn request_session(&mut self, shard: ShardId) {
        self.recount_used(shard);
        if let Some(begin) = self.sessions.request(shard, self.now.monotonic) {
            self.send(shard, begin);
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
        let now = self.now.monotonic;
        if !self.session(shard).accepted(node, epoch, grant, now) {
            return;
        }
        if self.is_ending {
            self.send(shard, ToLeader::Ending);
        }
        self.introduce_connections(shard, epoch);
        for (consumer, request) in self.session(shard).take_queue() {
            self.forward(shard, consumer, request);
        }
        self.send(shard, ToLeader::Ready);
        self.lend_to(shard);
    }

    /// The leader reports the end of its leadership.
    pub(super) fn session_ended(&mut self, node: &NodeName, shard: ShardId, epoch: u64) {
        if self.session(shard).leadership_ended(node, epoch) {
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
        let ended = self.session(shard).end(now);
        let awaiting = self.contents[shard].take_copies();
        if let Some(active) = ended.active {
            for (consumer, outcome) in ended.unconfirmed {
                self.defer(consumer, outcome);
            }
            self.defer_undelivered(&active, awaiting);
            self.effects.revoked.push(active.revoke());
        }
        for pending in ended.pending {
            self.give_up(shard, pending, (NoAnswer::Lost, UNKNOWN));
        }
        for consumer in self.served.close_at(shard) {
            let used = self.front.used(consumer, now, |it| it.shard == shard);
            self.front.close_loan(consumer, shard, used);
            self.balance(consumer);
        }
    }

    /// A session has ended. The copies of it that were not passed to their connections never will
    /// be, which the leader learns if there is another session with it.
    fn defer_undelivered(&mut self, active: &ActiveSession, awaiting: Vec<ReceivedCopy>) {
        for (consumer, copy) in awaiting {
            let delivered = active.delivered(&copy);
            let id = copy.revision.id;
            let message = void_message(&delivered, consumer, id.clone());
            self.defer(consumer, (id, delivered, message));
        }
        let connections: Vec<ConsumerId> = self.front.connections().collect();
        for consumer in connections {
            let queued = self.front.take_queued(consumer, |it| active.has_sent(it));
            for (id, delivered) in queued {
                let message = void_message(&delivered, consumer, id.clone());
                self.defer(consumer, (id, delivered, message));
            }
        }
    }

    /// Keeps the outcome of a delivery for its leader, which cannot be reached now.
    pub(super) fn defer(&mut self, consumer: ConsumerId, outcome: DeferredOutcome) {
        let limit = self.front.late_limit(consumer);
        self.served.defer(consumer, outcome, limit);
    }

    /// Refuses what has waited too long for a leader.
    fn expire_requests(&mut self, shard: ShardId) {
        let now = self.now.monotonic;
        for pending in self.session(shard).expire_requests(now) {
            self.give_up(shard, pending, (NoAnswer::Unsent, &self.no_leader()));
        }
    }
}
