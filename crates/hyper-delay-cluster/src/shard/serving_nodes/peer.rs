//! A serving node that has a session with the leader.

use std::collections::{BTreeMap, VecDeque};

use crate::log::NodeName;
use hyper_delay_engine::scheduler::{ConsumerId, GoneCopy};

/// A link from a node, by a number that is never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PeerId(pub(crate) u64);

/// See the [module](self).
#[derive(Debug)]
pub(super) struct ServingPeer {
    node: NodeName,
    /// It has reported what it has.
    is_ready: bool,
    /// It ends: what its connections have in flight has not failed.
    is_ending: bool,
    /// The copies that it was sent and has not confirmed, by number.
    unconfirmed: VecDeque<(u64, SentCopyKey)>,
}

/// A copy that was sent: the connection, as the scheduler knows it, the revision and the round.
pub(super) type SentCopyKey = (ConsumerId, u64, u32);

impl ServingPeer {
    pub(super) const fn new(node: NodeName) -> Self {
        Self {
            node,
            is_ready: false,
            is_ending: false,
            unconfirmed: VecDeque::new(),
        }
    }

    pub(super) const fn node(&self) -> &NodeName {
        &self.node
    }

    /// The node has reported what it has.
    pub(super) const fn set_ready(&mut self) {
        self.is_ready = true;
    }

    /// Returns whether the node has reported what it has.
    pub(super) const fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// The node ends as planned.
    pub(super) const fn set_ending(&mut self) {
        self.is_ending = true;
    }

    /// Returns whether the node ends as planned.
    pub(super) const fn is_ending(&self) -> bool {
        self.is_ending
    }

    /// Notes that the copy with this number was sent to the node.
    pub(super) fn push_sent(&mut self, number: u64, sent: SentCopyKey) {
        self.unconfirmed.push_back((number, sent));
    }

    /// All copies up to this number have arrived there.
    pub(super) fn confirm(&mut self, number: u64) {
        let unconfirmed = self.unconfirmed.iter();
        let confirmed = unconfirmed.take_while(|(sent, _)| *sent <= number).count();
        self.unconfirmed.drain(..confirmed);
    }

    /// Returns these copies, which the node does not have any more. They have failed unless it ends
    /// as planned.
    pub(super) fn gone(&self, copies: Vec<GoneCopy>) -> Vec<GoneCopy> {
        match self.is_ending {
            true => without_failures(copies),
            false => copies,
        }
    }

    /// Ends the session, whose open connections were these.
    pub(super) fn end(self, connections: Vec<ConsumerId>) -> EndedSession {
        let unconfirmed = self.unconfirmed.iter();
        let unconfirmed = unconfirmed.map(|(number, sent)| (*sent, *number)).collect();
        EndedSession {
            peer: self,
            unconfirmed,
            connections,
        }
    }
}

/// A session whose link is broken. Its connections may still have what is in flight, until the node
/// is back and reports them.
#[derive(Debug)]
pub(in crate::shard) struct EndedSession {
    peer: ServingPeer,
    /// The numbers of the copies that the node has not confirmed.
    unconfirmed: BTreeMap<SentCopyKey, u64>,
    connections: Vec<ConsumerId>,
}

impl EndedSession {
    pub(super) const fn node(&self) -> &NodeName {
        self.peer.node()
    }

    /// Returns the connections that were open.
    pub(in crate::shard) fn connections(&self) -> &[ConsumerId] {
        &self.connections
    }

    /// Returns these copies of a connection, each with its number if it is not known to have arrived.
    pub(super) fn unaccounted(
        &self,
        consumer: ConsumerId,
        copies: Vec<GoneCopy>,
    ) -> impl Iterator<Item = (GoneCopy, Option<u64>)> {
        self.peer.gone(copies).into_iter().map(move |copy| {
            let sent = (consumer, copy.seq, copy.attempt);
            (copy, self.unconfirmed.get(&sent).copied())
        })
    }
}

/// Returns the copies of a node that ends, or has ended, as planned.
pub(in crate::shard) fn without_failures(mut copies: Vec<GoneCopy>) -> Vec<GoneCopy> {
    for copy in &mut copies {
        copy.has_failed = false;
    }
    copies
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(seq: u64, has_failed: bool) -> GoneCopy {
        GoneCopy {
            seq,
            attempt: 1,
            has_failed,
        }
    }

    #[test]
    fn a_copy_has_a_number_until_it_is_confirmed() {
        let mut peer = ServingPeer::new("a".into());
        for number in 1..=3 {
            peer.push_sent(number, (9, number * 10, 1));
        }
        peer.confirm(2);
        let session = peer.end(vec![9]);
        let numbers = |consumer| {
            let copies = vec![copy(20, true), copy(30, true)];
            let copies = session.unaccounted(consumer, copies);
            copies.map(|(_, number)| number).collect::<Vec<_>>()
        };
        assert_eq!(numbers(9), [None, Some(3)]);
        assert_eq!(numbers(8), [None, None], "another connection");
    }

    #[test]
    fn copies_fail_with_their_node_unless_it_ends_as_planned() {
        let mut peer = ServingPeer::new("a".into());
        assert_eq!(peer.gone(vec![copy(1, true)]), [copy(1, true)]);
        peer.set_ending();
        assert_eq!(peer.gone(vec![copy(1, true)]), [copy(1, false)]);
        let session = peer.end(vec![9]);
        let mut copies = session.unaccounted(9, vec![copy(1, true)]);
        assert_eq!(copies.next(), Some((copy(1, false), None)));
    }
}
