//! The serving nodes that have a session with the leader of a shard.

mod connections;
mod outgoing;
mod peer;
mod unaccounted_copies;

use std::collections::{BTreeMap, BTreeSet};

use race_wheel::Tick;

use crate::{
    forward::wire::{ToConnection, ToServing},
    log::NodeName,
};
use connections::Connections;
use hyper_delay_engine::{
    clock::Now,
    scheduler::{ConsumerId, GoneCopy, SchedulerMessage, UnansweredDelivery},
};
use outgoing::{forwarded_copy, forwarded_reply};
pub(crate) use peer::PeerId;
pub(super) use peer::without_failures;
use peer::{EndedSession, ServingPeer};
use unaccounted_copies::UnaccountedCopies;

/// The sessions of serving nodes with this leader, and what their connections have in flight.
#[derive(Debug, Default)]
pub(super) struct ServingNodes {
    peers: BTreeMap<PeerId, ServingPeer>,
    /// Only nodes with a session have connections.
    connections: Connections,
    /// The number of the last copy that was sent.
    copies: u64,
    /// Nothing is delivered before this moment, unless all nodes are ready earlier.
    hold_until: Option<Tick>,
    unaccounted: UnaccountedCopies,
}

/// A connection that has closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClosedConnection {
    pub(super) consumer: ConsumerId,
    /// Its node ends as planned: what it had in flight has not failed.
    pub(super) is_planned: bool,
}

impl ServingNodes {
    /// Returns when the next action is due.
    pub(super) const fn next(&self) -> Option<Tick> {
        self.hold_until
    }

    /// The leadership begins: nothing is delivered before `until`, unless all nodes have said what is
    /// in flight.
    pub(super) const fn hold(&mut self, until: Tick) {
        self.hold_until = Some(until);
    }

    /// Ends the hold if all members are ready, or were waited for long enough. Returns whether it has
    /// ended now.
    pub(super) fn end_hold_if_ready(&mut self, members: &[NodeName], now: Now) -> bool {
        let Some(until) = self.hold_until else {
            return false;
        };
        let ready = self.peers.values().filter(|peer| peer.is_ready());
        let ready: BTreeSet<&NodeName> = ready.map(ServingPeer::node).collect();
        let all_are_ready = members.iter().all(|node| ready.contains(node));
        if !all_are_ready && now.monotonic < until {
            return false;
        }
        self.hold_until = None;
        true
    }

    /// Returns the number of nodes that have reported all that they have.
    #[cfg(test)]
    pub(super) fn ready_nodes(&self) -> usize {
        self.peers.values().filter(|peer| peer.is_ready()).count()
    }

    /// The leadership has ended, and with it the sessions. Returns their nodes.
    pub(super) fn end(&mut self) -> impl Iterator<Item = PeerId> {
        self.hold_until = None;
        self.unaccounted.clear();
        self.connections.clear();
        std::mem::take(&mut self.peers).into_keys()
    }

    /// Returns the sessions that a new one of a node replaces. A node has one link at a time; the news
    /// of the end of the last one can be late.
    pub(super) fn replaced_by(&self, peer: PeerId, node: &NodeName) -> Vec<PeerId> {
        let peers = self.peers.iter();
        let replaced = peers.filter(|(id, it)| **id == peer || it.node() == node);
        replaced.map(|(id, _)| *id).collect()
    }

    /// Begins a session. The last copy that has arrived at the node is `last_copy`, if the node
    /// knows.
    pub(super) fn begin(&mut self, peer: PeerId, node: NodeName, last_copy: Option<u64>) {
        if let Some(last_copy) = last_copy {
            self.unaccounted.mark_arrived(&node, last_copy);
        }
        self.peers.insert(peer, ServingPeer::new(node));
    }

    /// Returns whether a node has a session.
    pub(super) fn has_session(&self, peer: PeerId) -> bool {
        self.peers.contains_key(&peer)
    }

    /// All copies up to this number have arrived at a node.
    pub(super) fn confirm(&mut self, peer: PeerId, last_copy: u64) {
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.confirm(last_copy);
        }
    }

    /// A node ends as planned.
    pub(super) fn set_ending(&mut self, peer: PeerId) {
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.set_ending();
        }
    }

    /// A node has reported all that it has. Returns the copies that it does not have any more.
    pub(super) fn ready(&mut self, peer: PeerId) -> Vec<GoneCopy> {
        let Some(peer) = self.peers.get_mut(&peer) else {
            return Vec::new();
        };
        peer.set_ready();
        peer.gone(self.unaccounted.take(peer.node()))
    }

    /// A node reports that its connections have these copies.
    pub(super) fn account_for(&mut self, peer: PeerId, copies: &[UnansweredDelivery]) {
        let Some(peer) = self.peers.get(&peer) else {
            return;
        };
        for UnansweredDelivery { seq, attempt, .. } in copies {
            self.unaccounted.remove(peer.node(), (*seq, *attempt));
        }
    }

    /// The leader before had sent this copy to a node, which has not reported it yet.
    pub(super) fn await_report(&mut self, node: &NodeName, copy: GoneCopy) {
        self.unaccounted.add(node, copy, None);
    }

    /// Returns the copies that nodes have not reported yet.
    pub(super) fn unaccounted(&self) -> impl Iterator<Item = (&NodeName, GoneCopy)> {
        self.unaccounted.iter()
    }

    /// Ends the session of a node whose link is broken.
    pub(super) fn remove(&mut self, peer: PeerId) -> Option<EndedSession> {
        let serving = self.peers.remove(&peer)?;
        Some(serving.end(self.connections.remove_peer(peer)))
    }

    /// A connection of an ended session had these copies.
    pub(super) fn await_reports(
        &mut self,
        session: &EndedSession,
        consumer: ConsumerId,
        copies: Vec<GoneCopy>,
    ) {
        for (copy, number) in session.unaccounted(consumer, copies) {
            self.unaccounted.add(session.node(), copy, number);
        }
    }

    /// Returns the node of a connection.
    pub(super) fn node_of(&self, consumer: ConsumerId) -> Option<&NodeName> {
        let (peer, _) = self.connections.remote_of(consumer)?;
        self.peers.get(&peer).map(ServingPeer::node)
    }

    /// Returns the number that the scheduler knows for a connection there.
    pub(super) fn consumer_of(&self, peer: PeerId, remote_id: ConsumerId) -> Option<ConsumerId> {
        self.connections.consumer_of(peer, remote_id)
    }

    /// The connection there has opened.
    pub(super) fn open(&mut self, peer: PeerId, remote_id: ConsumerId) -> ConsumerId {
        self.connections.open(peer, remote_id)
    }

    /// The connection there is closed. Its requests are still answered. `None`: it was not open.
    pub(super) fn close(
        &mut self,
        peer: PeerId,
        remote_id: ConsumerId,
    ) -> Option<ClosedConnection> {
        let is_planned = self.peers.get(&peer)?.is_ending();
        let consumer = self.connections.close(peer, remote_id)?;
        Some(ClosedConnection {
            consumer,
            is_planned,
        })
    }

    /// The connection there sends a request, which is answered through
    /// [`outgoing`](Self::outgoing) or [`end_request`](Self::end_request).
    pub(super) fn begin_request(&mut self, peer: PeerId, remote_id: ConsumerId) -> ConsumerId {
        self.connections.begin_request(peer, remote_id)
    }

    /// A request of a connection is answered.
    pub(super) fn end_request(&mut self, consumer: ConsumerId) {
        self.connections.end_request(consumer);
    }

    /// Returns a message of the scheduler for the node of its connection. `None`: the connection has
    /// left, or the message is for the front of a single server. A replica must be at `after` to have
    /// the content of a copy.
    pub(super) fn outgoing(
        &mut self,
        consumer: ConsumerId,
        message: SchedulerMessage,
        after: u64,
        now: Now,
    ) -> Option<(PeerId, ToServing)> {
        let (peer, remote_id) = self.connections.remote_of(consumer)?;
        let outgoing = match message {
            SchedulerMessage::Reply(number, reply) => {
                self.connections.end_request(consumer);
                forwarded_reply(number, reply, now)
            }
            SchedulerMessage::Notice(reply) => ToConnection::Notice(reply),
            SchedulerMessage::Credit(credit) => ToConnection::Credit(credit),
            // Nodes up to 0.3 do not know of it. Its answer changes nothing either way.
            SchedulerMessage::Lost(..) => return None,
            SchedulerMessage::Deliver(copy) => {
                self.copies += 1;
                if let Some(peer) = self.peers.get_mut(&peer) {
                    peer.push_sent(self.copies, (consumer, copy.seq, copy.attempt));
                }
                forwarded_copy(copy, self.copies, after, now)
            }
        };
        Some((peer, ToServing::Connection(remote_id, outgoing)))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::at, *};
    use hyper_delay_engine::scheduler::SentCopy;
    use hyper_delay_protocol::Reply;

    const PEER: PeerId = PeerId(3);
    const REMOTE: ConsumerId = 70;

    fn nodes() -> ServingNodes {
        let mut nodes = ServingNodes::default();
        nodes.begin(PEER, "a".into(), None);
        nodes
    }

    fn gone(seq: u64, has_failed: bool) -> GoneCopy {
        GoneCopy {
            seq,
            attempt: 1,
            has_failed,
        }
    }

    fn deliver(seq: u64) -> SchedulerMessage {
        SchedulerMessage::Deliver(SentCopy {
            seq,
            route: "r".into(),
            id: "x".into(),
            due: 3,
            attempt: 1,
            until: Tick::new(70),
            write_by: Tick::new(60),
            expires_at: None,
        })
    }

    #[test]
    fn the_hold_ends_when_all_members_are_ready_or_its_time_is_over() {
        let members: [NodeName; 2] = ["a".into(), "b".into()];
        let mut nodes = nodes();
        assert!(!nodes.end_hold_if_ready(&members, at(90)), "there is none");
        nodes.begin(PeerId(4), "b".into(), None);
        nodes.hold(Tick::new(50));
        nodes.ready(PEER);
        assert!(!nodes.end_hold_if_ready(&members, at(49)));
        nodes.ready(PeerId(4));
        assert!(nodes.end_hold_if_ready(&members, at(49)));
        assert!(!nodes.end_hold_if_ready(&members, at(49)), "it ends once");
        nodes.hold(Tick::new(50));
        nodes.remove(PEER);
        assert!(!nodes.end_hold_if_ready(&members, at(49)));
        assert!(nodes.end_hold_if_ready(&members, at(50)));
    }

    #[test]
    fn a_session_replaces_those_of_its_link_and_of_its_node() {
        let mut nodes = nodes();
        nodes.begin(PeerId(4), "b".into(), None);
        assert_eq!(nodes.replaced_by(PeerId(5), &"a".into()), [PEER]);
        assert_eq!(nodes.replaced_by(PEER, &"b".into()), [PEER, PeerId(4)]);
        assert_eq!(nodes.replaced_by(PeerId(5), &"c".into()), []);
    }

    #[test]
    fn a_copy_that_was_lost_with_the_link_has_not_failed() {
        let mut nodes = nodes();
        let consumer = nodes.open(PEER, REMOTE);
        for seq in [10, 20] {
            nodes.outgoing(consumer, deliver(seq), 0, at(0)).unwrap();
        }
        let session = nodes.remove(PEER).unwrap();
        assert_eq!(session.connections(), [consumer]);
        let copies = vec![gone(10, true), gone(20, true)];
        nodes.await_reports(&session, consumer, copies);
        nodes.begin(PeerId(4), "a".into(), Some(1));
        assert_eq!(nodes.ready(PeerId(4)), [gone(10, true), gone(20, false)]);
        assert_eq!(nodes.ready(PeerId(4)), []);
    }

    #[test]
    fn a_copy_that_a_node_reports_is_not_gone() {
        let mut nodes = ServingNodes::default();
        for seq in [10, 20] {
            nodes.await_report(&"a".into(), gone(seq, false));
        }
        nodes.begin(PEER, "a".into(), None);
        let reported = UnansweredDelivery {
            route: "r".into(),
            id: "x".into(),
            seq: 10,
            attempt: 1,
            left: std::time::Duration::ZERO,
        };
        nodes.account_for(PEER, &[reported]);
        let left: Vec<_> = nodes.unaccounted().map(|(_, copy)| copy.seq).collect();
        assert_eq!(left, [20]);
        assert_eq!(nodes.ready(PEER), [gone(20, false)]);
    }

    #[test]
    fn the_last_answer_to_a_closed_connection_reaches_its_node() {
        let mut nodes = nodes();
        let consumer = nodes.open(PEER, REMOTE);
        nodes.begin_request(PEER, REMOTE);
        nodes.set_ending(PEER);
        let closed = ClosedConnection {
            consumer,
            is_planned: true,
        };
        assert_eq!(nodes.close(PEER, REMOTE), Some(closed));
        let pong = || SchedulerMessage::Reply(1, Reply::Pong);
        let sent = nodes.outgoing(consumer, pong(), 0, at(0));
        let Some((PEER, ToServing::Connection(REMOTE, ToConnection::Reply(1, Reply::Pong)))) = sent
        else {
            panic!("{sent:?}");
        };
        assert!(nodes.outgoing(consumer, pong(), 0, at(0)).is_none());
    }

    #[test]
    fn nothing_is_left_when_the_leadership_has_ended() {
        let mut nodes = nodes();
        let consumer = nodes.open(PEER, REMOTE);
        nodes.await_report(&"a".into(), gone(10, false));
        nodes.hold(Tick::new(50));
        assert!(nodes.end().eq([PEER]));
        assert_eq!(nodes.next(), None);
        assert!(!nodes.has_session(PEER));
        assert_eq!(nodes.unaccounted().count(), 0);
        nodes.begin(PEER, "a".into(), None);
        assert_ne!(
            nodes.open(PEER, REMOTE),
            consumer,
            "numbers are not used again"
        );
    }
}
