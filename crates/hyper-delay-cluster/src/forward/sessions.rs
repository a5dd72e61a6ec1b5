//! The sessions of this node with the leaders of all shards.

use std::{
    collections::BTreeSet,
    ops::{Index, IndexMut},
    time::Duration,
};

use race_wheel::Tick;

use super::{by_shard::ByShard, leader_session::LeaderSession, wire::ToLeader};
use crate::{ShardId, log::NodeName};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Sessions {
    /// This node.
    node: NodeName,
    /// The nodes to which there is a link; this one is always among them.
    linked: BTreeSet<NodeName>,
    by_shard: ByShard<LeaderSession>,
}

impl Sessions {
    pub(super) fn new(node: NodeName, shards: u16, lease: Duration, now: Tick) -> Self {
        Self {
            linked: BTreeSet::from([node.clone()]),
            node,
            by_shard: ByShard::new(shards, |shard| LeaderSession::new(shard, lease, now)),
        }
    }

    /// There is a link to a node.
    pub(super) fn linked(&mut self, node: NodeName, now: Tick) {
        for (_, session) in self.by_shard.iter_mut() {
            session.linked(&node, now);
        }
        self.linked.insert(node);
    }

    /// The link to a node is broken. Returns the shards whose sessions must end.
    pub(super) fn unlinked(&mut self, node: &NodeName) -> Vec<ShardId> {
        self.linked.remove(node);
        let with_it = self.by_shard.iter().filter(|(_, session)| {
            let partner = session.partner();
            partner.is_some_and(|partner| partner.node == *node)
        });
        with_it.map(|(shard, _)| shard).collect()
    }

    /// Asks the leader of a shard for a session, if there is a link to it. Returns the message.
    pub(super) fn request(&mut self, shard: ShardId, now: Tick) -> Option<ToLeader> {
        self.by_shard[shard].request(&self.node, &self.linked, now)
    }

    /// Returns when the next session has something to do.
    pub(super) fn next_event(&self) -> Option<Tick> {
        let sessions = self.by_shard.iter();
        sessions.filter_map(|(_, it)| it.next_event()).min()
    }

    /// Returns the shards whose leaders cannot be reached, and could not be within the last lease.
    pub(super) fn unreachable(&self, now: Tick) -> Vec<ShardId> {
        let sessions = self.by_shard.iter();
        let unreachable = sessions.filter(|(_, session)| session.is_unreachable(now));
        unreachable.map(|(shard, _)| shard).collect()
    }

    /// Returns whether no client waits for an answer.
    pub(super) fn await_no_answer(&self) -> bool {
        let mut sessions = self.by_shard.iter();
        sessions.all(|(_, session)| session.awaits_no_answer())
    }
}

impl Index<ShardId> for Sessions {
    type Output = LeaderSession;

    fn index(&self, shard: ShardId) -> &LeaderSession {
        &self.by_shard[shard]
    }
}

impl IndexMut<ShardId> for Sessions {
    fn index_mut(&mut self, shard: ShardId) -> &mut LeaderSession {
        &mut self.by_shard[shard]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::samples::leader;

    fn at(nanos: u64) -> Tick {
        Tick::new(nanos)
    }

    /// Shard 0 is led by this node, the others by `b`.
    fn sessions() -> Sessions {
        let lease = Duration::from_nanos(6_400);
        let mut sessions = Sessions::new("a".into(), 3, lease, at(0));
        for (shard, node) in [(0, "a"), (1, "b"), (2, "b")] {
            sessions[ShardId(shard)].set_leader(Some(leader(node, 7)), at(0));
        }
        sessions
    }

    #[test]
    fn this_node_needs_no_link_to_itself() {
        let mut sessions = sessions();
        assert!(sessions.request(ShardId(0), at(0)).is_some());
        assert!(sessions.request(ShardId(1), at(0)).is_none());
        assert_eq!(sessions.next_event(), Some(at(0)), "of shard 2");
        sessions.linked("b".into(), at(10));
        assert!(sessions.request(ShardId(1), at(10)).is_some());
    }

    #[test]
    fn sessions_with_a_node_end_with_its_link() {
        let mut sessions = sessions();
        sessions.linked("b".into(), at(0));
        for shard in [0, 2] {
            sessions.request(ShardId(shard), at(0));
        }
        assert_eq!(sessions.unlinked(&"b".into()), [ShardId(2)]);
        assert!(sessions.request(ShardId(1), at(0)).is_none());
    }

    #[test]
    fn shards_without_a_session_are_unreachable_after_a_lease() {
        let sessions = sessions();
        assert_eq!(sessions.unreachable(at(6_399)), []);
        assert_eq!(sessions.unreachable(at(6_400)), [0, 1, 2].map(ShardId));
    }
}
