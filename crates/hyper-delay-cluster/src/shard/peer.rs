//! A serving node that has a session with the leader.

use std::collections::{BTreeMap, VecDeque};

use crate::log::NodeName;
use hyper_delay_engine::scheduler::ConsumerId;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct ServingPeer {
    pub(super) node: NodeName,
    /// The number that the scheduler knows, by the number there.
    pub(super) connections: BTreeMap<ConsumerId, ConsumerId>,
    /// It has reported what it has.
    pub(super) is_ready: bool,
    /// It ends: what its connections have in flight has not failed.
    pub(super) is_ending: bool,
    /// The copies that it was sent and has not confirmed, by number.
    unconfirmed: VecDeque<(u64, SentCopyKey)>,
}

/// A copy that was sent: the connection, as the scheduler knows it, the revision and the round.
pub(super) type SentCopyKey = (ConsumerId, u64, u32);

impl ServingPeer {
    pub(super) const fn new(node: NodeName) -> Self {
        Self {
            node,
            connections: BTreeMap::new(),
            is_ready: false,
            is_ending: false,
            unconfirmed: VecDeque::new(),
        }
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

    /// Returns the numbers of the copies that it has not confirmed.
    pub(super) fn unconfirmed(&self) -> BTreeMap<SentCopyKey, u64> {
        let unconfirmed = self.unconfirmed.iter();
        unconfirmed.map(|(number, sent)| (*sent, *number)).collect()
    }
}
