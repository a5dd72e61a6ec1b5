//! The sessions of serving nodes with the leader.

use race_wheel::Tick;

use super::{
    PeerId, Shard,
    serving_nodes::{ClosedConnection, without_failures},
};
use crate::{
    forward::wire::ToServing,
    lease::Term,
    log::{Fence, NodeName},
};
use hyper_delay_engine::{
    clock::Now,
    scheduler::{ConsumerId, GoneCopy, SchedulerInput},
};
use hyper_delay_store::Store;

/// A serving node asks for a session.
#[derive(Debug)]
pub(super) struct SessionRequest {
    pub(super) peer: PeerId,
    pub(super) node: NodeName,
    /// The leadership that it has seen.
    pub(super) epoch: u64,
    /// The time of the node.
    pub(super) sent: Tick,
    /// The last copy of this leadership that has arrived there, if it knows.
    pub(super) last_copy: Option<u64>,
}

impl<S: Store> Shard<S> {
    /// Begins a session if this node leads the shard, and refuses it otherwise.
    pub(super) fn begin_session(&mut self, request: SessionRequest, now: Now, term: Option<Term>) {
        let SessionRequest {
            peer,
            node,
            epoch,
            sent,
            last_copy,
        } = request;
        for replaced in self.serving_nodes.replaced_by(peer, &node) {
            self.peer_disconnected(replaced, now);
        }
        let session = (peer, epoch);
        let lease = self.setup.lease;
        let leads = self.fence().filter(|fence| fence.epoch == epoch);
        let grant = leads.and_then(|_| self.grants.grant(session, sent, term, lease, now));
        let answer = match grant {
            Some(grant) => {
                self.serving_nodes.begin(peer, node, last_copy);
                ToServing::Accepted { epoch, grant }
            }
            None => ToServing::Refused { epoch },
        };
        self.effects.to_peers.push((peer, answer));
    }

    /// Extends the time in which a serving node may write deliveries.
    pub(super) fn answer_ping(
        &mut self,
        peer: PeerId,
        sent: Tick,
        last_copy: u64,
        now: Now,
        term: Option<Term>,
    ) {
        self.serving_nodes.confirm(peer, last_copy);
        // Its answer would say that everything sent before was taken.
        let fence = self.fence().filter(|_| self.accepts_answers(now));
        let Some(epoch) = fence.map(|fence| fence.epoch) else {
            return;
        };
        let lease = self.setup.lease;
        let grant = self.grants.grant((peer, epoch), sent, term, lease, now);
        let granted = grant.map(|grant| (peer, ToServing::Granted { epoch, grant }));
        self.effects.to_peers.extend(granted);
    }

    /// A serving node has reported all that it has. Copies that were in flight there at a
    /// hand-over are gone otherwise.
    pub(super) fn peer_is_ready(&mut self, peer: PeerId) -> Option<SchedulerInput> {
        if self.is_ending() {
            return None;
        }
        let gone = self.serving_nodes.ready(peer);
        (!gone.is_empty()).then_some(SchedulerInput::CopiesGone(gone))
    }

    /// The link from a node is broken. Its connections may still have what is in flight, until the
    /// node is back and reports them.
    pub(super) fn peer_disconnected(&mut self, peer: PeerId, now: Now) {
        let Some(session) = self.serving_nodes.remove(peer) else {
            return;
        };
        for consumer in session.connections() {
            let copies = self.copies_of(*consumer);
            self.serving_nodes
                .await_reports(&session, *consumer, copies);
            self.input(SchedulerInput::Detached(*consumer), now);
        }
    }

    /// A connection there is closed: what it has in flight has failed, unless its node ends. Then it
    /// is due again at once.
    pub(super) fn connection_closed(
        &mut self,
        peer: PeerId,
        remote_id: ConsumerId,
        now: Now,
    ) -> Option<SchedulerInput> {
        let ClosedConnection {
            consumer,
            is_planned,
        } = self.serving_nodes.close(peer, remote_id)?;
        if !is_planned {
            return Some(SchedulerInput::Closed(consumer));
        }
        if !self.accepts_answers(now) {
            return None;
        }
        let gone = without_failures(self.copies_of(consumer));
        self.input(SchedulerInput::Detached(consumer), now);
        Some(SchedulerInput::CopiesGone(gone))
    }

    /// Returns what a connection has in flight.
    fn copies_of(&self, consumer: ConsumerId) -> Vec<GoneCopy> {
        let leading = self.leading.as_ref();
        leading.map_or_else(Vec::new, |it| it.copies_of(consumer))
    }

    /// The leadership begins: nothing is delivered until all nodes have said what is in flight.
    pub(super) fn begin_sessions(&mut self, now: Now) {
        self.serving_nodes.hold(now.after(self.setup.lease / 8));
        self.input(SchedulerInput::TookOver, now);
        self.input(SchedulerInput::DeliveriesHeld(true), now);
    }

    /// The leadership has ended, and with it the sessions.
    pub(super) fn end_sessions(&mut self, fence: Fence) {
        let epoch = fence.epoch;
        let ended = self.serving_nodes.end();
        let ended = ended.map(|peer| (peer, ToServing::Ended { epoch }));
        self.effects.to_peers.extend(ended);
    }

    /// Lets deliveries begin if all nodes are ready, or were waited for long enough.
    pub(super) fn end_hold_if_ready(&mut self, now: Now) {
        if self.serving_nodes.end_hold_if_ready(&self.members, now) {
            self.input(SchedulerInput::DeliveriesHeld(false), now);
        }
    }
}
