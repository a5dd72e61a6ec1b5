//! The sessions of serving nodes with the leader.

use std::collections::BTreeSet;

use race_wheel::Tick;

use super::{PeerId, Shard, audience::Audience, peer::Peer};
use crate::{
    forward::wire::{Holds, ToServing},
    lease::Term,
    log::{Fence, NodeName},
};
use hyper_delay_engine::{
    clock::{Now, nanos},
    scheduler::{Adopted, ConsumerId, GoneCopy, Input},
};
use hyper_delay_store::Store;

impl<S: Store> Shard<S> {
    /// A serving node asks for a session.
    pub(super) fn begin_session(
        &mut self,
        (peer, node): (PeerId, NodeName),
        (epoch, heard): (u64, Option<u64>),
        sent: Tick,
        now: Now,
        term: Option<Term>,
    ) {
        // A node has one link at a time; the news of the end of the last one can be late.
        let peers = self.audience.peers.iter();
        let earlier = peers.filter(|(id, it)| **id == peer || it.node == node);
        let earlier: Vec<PeerId> = earlier.map(|(id, _)| *id).collect();
        for peer in earlier {
            self.peer_is_gone(peer, now);
        }
        let leads = self.fence().filter(|fence| fence.epoch == epoch);
        let Some(holds) = leads.and_then(|_| self.grant((peer, epoch), sent, now, term)) else {
            self.effects.told.push((peer, ToServing::Refused { epoch }));
            return;
        };
        if let Some(heard) = heard {
            self.audience.away.heard(&node, heard);
        }
        self.audience.peers.insert(peer, Peer::new(node));
        let accepted = ToServing::Accepted { epoch, holds };
        self.effects.told.push((peer, accepted));
    }

    /// Lets a serving node write deliveries of a leadership for a part of the lease.
    pub(super) fn grant(
        &mut self,
        (peer, epoch): (PeerId, u64),
        asked: Tick,
        now: Now,
        term: Option<Term>,
    ) -> Option<Holds> {
        let term = term.filter(|term| term.holds(now))?;
        let until = term.until.min(now.after(self.setup.lease / 2));
        let granted = &mut self.audience.granted;
        granted.retain(|_, ends| now.monotonic < *ends);
        // The clock of the serving node can be slower than that of this one.
        let ends = until + nanos(self.setup.lease / 8);
        let of_peer = granted.entry((peer, epoch)).or_insert(ends);
        *of_peer = ends.max(*of_peer);
        Some(Holds {
            asked,
            at: now.monotonic,
            until,
        })
    }

    /// A serving node has told the leader of all that it has. Copies that were in flight there at a
    /// hand-over are gone otherwise.
    pub(super) fn peer_is_ready(&mut self, peer: PeerId) -> Option<Input> {
        if self.is_ending() {
            return None;
        }
        let peer = self.audience.peers.get_mut(&peer)?;
        peer.is_ready = true;
        let mut gone = self.audience.away.take(&peer.node);
        if peer.is_ending {
            have_not_failed(&mut gone);
        }
        (!gone.is_empty()).then_some(Input::Gone(gone))
    }

    /// A serving node tells that its connections have these copies.
    pub(super) fn are_there(&mut self, peer: PeerId, copies: &[Adopted]) {
        if self.is_ending() {
            return;
        }
        let Audience { peers, away, .. } = &mut self.audience;
        let Some(peer) = peers.get(&peer) else {
            return;
        };
        for Adopted { seq, attempt, .. } in copies {
            away.told(&peer.node, (*seq, *attempt));
        }
    }

    /// The link from a node is broken. Its connections may still have what is in flight, until the
    /// node is back and tells.
    pub(super) fn peer_is_gone(&mut self, peer: PeerId, now: Now) {
        let Some(state) = self.audience.peers.get(&peer) else {
            return;
        };
        let (node, unheard) = (state.node.clone(), state.unheard());
        let is_ending = state.is_ending;
        for consumer in self.audience.remove(peer) {
            let mut copies = self.copies_of(consumer);
            if is_ending {
                have_not_failed(&mut copies);
            }
            for copy in copies {
                let sent = (consumer, copy.seq, copy.attempt);
                let number = unheard.get(&sent).copied();
                self.audience.away.add(&node, copy, number);
            }
            self.input(Input::Detached(consumer), now);
        }
    }

    /// A connection there is closed: what it has in flight has failed, unless its node ends. Then it
    /// is due again at once.
    pub(super) fn connection_closed(
        &mut self,
        peer: PeerId,
        there: ConsumerId,
        now: Now,
    ) -> Option<Input> {
        let state = self.audience.peers.get(&peer)?;
        let is_ending = state.is_ending;
        let consumer = self.audience.close(peer, there)?;
        if !is_ending {
            return Some(Input::Closed(consumer));
        }
        if !self.takes_answers(now) {
            return None;
        }
        let mut gone = self.copies_of(consumer);
        have_not_failed(&mut gone);
        self.input(Input::Detached(consumer), now);
        Some(Input::Gone(gone))
    }

    /// Returns what a connection has in flight.
    fn copies_of(&self, consumer: ConsumerId) -> Vec<GoneCopy> {
        let leading = self.leading.as_ref();
        leading.map_or_else(Vec::new, |it| it.scheduler.copies_of(consumer))
    }

    /// The leadership begins: nothing is delivered until all nodes have said what is in flight.
    pub(super) fn audience_begins(&mut self, now: Now) {
        self.audience.holding = Some(now.after(self.setup.lease / 8));
        self.input(Input::TookOver, now);
        self.input(Input::Holding(true), now);
    }

    /// The leadership has ended, and with it the sessions.
    pub(super) fn audience_ends(&mut self, fence: Fence) {
        let epoch = fence.epoch;
        self.audience.holding = None;
        self.audience.away.clear();
        self.audience.consumers.clear();
        for peer in std::mem::take(&mut self.audience.peers).into_keys() {
            self.effects.told.push((peer, ToServing::Ended { epoch }));
        }
    }

    /// Lets deliveries begin if all nodes are ready, or were waited for long enough.
    pub(super) fn hold_or_begin(&mut self, now: Now) {
        let Some(until) = self.audience.holding else {
            return;
        };
        let peers = self.audience.peers.values();
        let ready = peers.filter(|peer| peer.is_ready).map(|peer| &peer.node);
        let ready: BTreeSet<&NodeName> = ready.collect();
        let all_are_ready = self.members.iter().all(|node| ready.contains(node));
        if all_are_ready || now.monotonic >= until {
            self.audience.holding = None;
            self.input(Input::Holding(false), now);
        }
    }
}

/// Their node ends, or has ended, as planned.
fn have_not_failed(copies: &mut [GoneCopy]) {
    for copy in copies {
        copy.has_failed = false;
    }
}
