//! The sessions of serving nodes with the leader.

use std::collections::BTreeSet;

use race_wheel::Tick;

use super::{PeerId, Shard, peer::ServingPeer, serving_nodes::ServingNodes};
use crate::{
    forward::wire::{LeadershipGrant, ToServing},
    lease::Term,
    log::{Fence, NodeName},
};
use hyper_delay_engine::{
    clock::{Now, nanos},
    scheduler::{ConsumerId, GoneCopy, SchedulerInput, UnansweredDelivery},
};
use hyper_delay_store::Store;

impl<S: Store> Shard<S> {
    /// A serving node asks for a session.
    pub(super) fn begin_session(
        &mut self,
        (peer, node): (PeerId, NodeName),
        (epoch, last_copy): (u64, Option<u64>),
        sent: Tick,
        now: Now,
        term: Option<Term>,
    ) {
        // A node has one link at a time; the news of the end of the last one can be late.
        let peers = self.serving_nodes.peers.iter();
        let earlier = peers.filter(|(id, it)| **id == peer || it.node == node);
        let earlier: Vec<PeerId> = earlier.map(|(id, _)| *id).collect();
        for peer in earlier {
            self.peer_disconnected(peer, now);
        }
        let leads = self.fence().filter(|fence| fence.epoch == epoch);
        let Some(grant) = leads.and_then(|_| self.grant((peer, epoch), sent, now, term)) else {
            self.effects
                .to_peers
                .push((peer, ToServing::Refused { epoch }));
            return;
        };
        if let Some(last_copy) = last_copy {
            self.serving_nodes
                .unaccounted
                .mark_arrived(&node, last_copy);
        }
        self.serving_nodes
            .peers
            .insert(peer, ServingPeer::new(node));
        let accepted = ToServing::Accepted { epoch, grant };
        self.effects.to_peers.push((peer, accepted));
    }

    /// Lets a serving node write deliveries of a leadership for a part of the lease.
    pub(super) fn grant(
        &mut self,
        (peer, epoch): (PeerId, u64),
        asked: Tick,
        now: Now,
        term: Option<Term>,
    ) -> Option<LeadershipGrant> {
        let term = term.filter(|term| term.holds(now))?;
        let until = term.until.min(now.after(self.setup.lease / 2));
        let granted = &mut self.serving_nodes.grants;
        granted.retain(|_, ends| now.monotonic < *ends);
        // The clock of the serving node can be slower than that of this one.
        let ends = until + nanos(self.setup.lease / 8);
        let of_peer = granted.entry((peer, epoch)).or_insert(ends);
        *of_peer = ends.max(*of_peer);
        Some(LeadershipGrant {
            asked_at: asked,
            at: now.monotonic,
            until,
        })
    }

    /// A serving node has reported all that it has. Copies that were in flight there at a
    /// hand-over are gone otherwise.
    pub(super) fn peer_is_ready(&mut self, peer: PeerId) -> Option<SchedulerInput> {
        if self.is_ending() {
            return None;
        }
        let peer = self.serving_nodes.peers.get_mut(&peer)?;
        peer.is_ready = true;
        let mut gone = self.serving_nodes.unaccounted.take(&peer.node);
        if peer.is_ending {
            clear_failures(&mut gone);
        }
        (!gone.is_empty()).then_some(SchedulerInput::CopiesGone(gone))
    }

    /// A serving node reports that its connections have these copies.
    pub(super) fn account_for_copies(&mut self, peer: PeerId, copies: &[UnansweredDelivery]) {
        if self.is_ending() {
            return;
        }
        let ServingNodes {
            peers, unaccounted, ..
        } = &mut self.serving_nodes;
        let Some(peer) = peers.get(&peer) else {
            return;
        };
        for UnansweredDelivery { seq, attempt, .. } in copies {
            unaccounted.remove(&peer.node, (*seq, *attempt));
        }
    }

    /// The link from a node is broken. Its connections may still have what is in flight, until the
    /// node is back and reports them.
    pub(super) fn peer_disconnected(&mut self, peer: PeerId, now: Now) {
        let Some(serving) = self.serving_nodes.peers.get(&peer) else {
            return;
        };
        let (node, unconfirmed) = (serving.node.clone(), serving.unconfirmed());
        let is_ending = serving.is_ending;
        for consumer in self.serving_nodes.remove(peer) {
            let mut copies = self.copies_of(consumer);
            if is_ending {
                clear_failures(&mut copies);
            }
            for copy in copies {
                let sent = (consumer, copy.seq, copy.attempt);
                let number = unconfirmed.get(&sent).copied();
                self.serving_nodes.unaccounted.add(&node, copy, number);
            }
            self.input(SchedulerInput::Detached(consumer), now);
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
        let serving = self.serving_nodes.peers.get(&peer)?;
        let is_ending = serving.is_ending;
        let consumer = self.serving_nodes.close(peer, remote_id)?;
        if !is_ending {
            return Some(SchedulerInput::Closed(consumer));
        }
        if !self.accepts_answers(now) {
            return None;
        }
        let mut gone = self.copies_of(consumer);
        clear_failures(&mut gone);
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
        self.serving_nodes.hold_until = Some(now.after(self.setup.lease / 8));
        self.input(SchedulerInput::TookOver, now);
        self.input(SchedulerInput::DeliveriesHeld(true), now);
    }

    /// The leadership has ended, and with it the sessions.
    pub(super) fn end_sessions(&mut self, fence: Fence) {
        let epoch = fence.epoch;
        self.serving_nodes.hold_until = None;
        self.serving_nodes.unaccounted.clear();
        self.serving_nodes.consumers.clear();
        for peer in std::mem::take(&mut self.serving_nodes.peers).into_keys() {
            self.effects
                .to_peers
                .push((peer, ToServing::Ended { epoch }));
        }
    }

    /// Lets deliveries begin if all nodes are ready, or were waited for long enough.
    pub(super) fn end_hold_if_ready(&mut self, now: Now) {
        let Some(until) = self.serving_nodes.hold_until else {
            return;
        };
        let peers = self.serving_nodes.peers.values();
        let ready = peers.filter(|peer| peer.is_ready).map(|peer| &peer.node);
        let ready: BTreeSet<&NodeName> = ready.collect();
        let all_are_ready = self.members.iter().all(|node| ready.contains(node));
        if all_are_ready || now.monotonic >= until {
            self.serving_nodes.hold_until = None;
            self.input(SchedulerInput::DeliveriesHeld(false), now);
        }
    }
}

/// Their node ends, or has ended, as planned.
fn clear_failures(copies: &mut [GoneCopy]) {
    for copy in copies {
        copy.has_failed = false;
    }
}
