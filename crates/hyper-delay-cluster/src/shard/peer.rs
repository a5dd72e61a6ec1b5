//! A serving node that has a session with the leader.

use std::collections::{BTreeMap, VecDeque};

use crate::log::NodeName;
use hyper_delay_engine::scheduler::ConsumerId;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) node: NodeName,
    /// The number that the scheduler knows, by the number there.
    pub(super) connections: BTreeMap<ConsumerId, ConsumerId>,
    /// It has told what it has.
    pub(super) is_ready: bool,
    /// It ends: what its connections have in flight has not failed.
    pub(super) is_ending: bool,
    /// The copies that it was sent and has not confirmed, by number.
    unheard: VecDeque<(u64, Sent)>,
}

/// A copy that was sent: the connection, as the scheduler knows it, the revision and the round.
pub(super) type Sent = (ConsumerId, u64, u32);

impl Peer {
    pub(super) const fn new(node: NodeName) -> Self {
        Self {
            node,
            connections: BTreeMap::new(),
            is_ready: false,
            is_ending: false,
            unheard: VecDeque::new(),
        }
    }

    /// It is sent the copy with this number.
    pub(super) fn is_sent(&mut self, number: u64, sent: Sent) {
        self.unheard.push_back((number, sent));
    }

    /// All copies up to this number have arrived there.
    pub(super) fn has_heard(&mut self, number: u64) {
        let unheard = self.unheard.iter();
        let heard = unheard.take_while(|(sent, _)| *sent <= number).count();
        self.unheard.drain(..heard);
    }

    /// Returns the numbers of the copies that it has not confirmed.
    pub(super) fn unheard(&self) -> BTreeMap<Sent, u64> {
        let unheard = self.unheard.iter();
        unheard.map(|(number, sent)| (*sent, *number)).collect()
    }
}
