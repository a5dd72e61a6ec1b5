//! The nodes that this one has links to, and their addresses.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    ShardId,
    log::{Leader, Member, NodeName},
};

/// The addresses of the other nodes.
///
/// The address of a node is that of its last leadership that has not ended, as only the process
/// with the lease of the node can begin one. Otherwise it is what the cluster knows of its member.
#[derive(Debug, Default)]
pub(super) struct NodeAddresses {
    leaders: BTreeMap<ShardId, LastLeader>,
    members: BTreeMap<NodeName, Arc<str>>,
}

/// The last leader of a shard.
#[derive(Debug)]
struct LastLeader {
    leader: Leader,
    /// Whether it leads, as far as this node knows.
    leads: bool,
}

impl NodeAddresses {
    /// Sets the leader of a shard, as far as this node knows. While it is not known, the last one
    /// counts: it may lead again.
    pub(super) fn set_leader(&mut self, shard: ShardId, leader: Option<&Leader>) {
        match leader {
            Some(leader) => {
                let leader = leader.clone();
                self.leaders.insert(
                    shard,
                    LastLeader {
                        leader,
                        leads: true,
                    },
                );
            }
            None => {
                if let Some(led) = self.leaders.get_mut(&shard) {
                    led.leads = false;
                }
            }
        }
    }

    /// The nodes of the cluster.
    pub(super) fn set_members(&mut self, members: &[Member]) {
        let members = members.iter().cloned();
        self.members = members.map(|it| (it.node, it.address)).collect();
    }

    /// Returns all nodes but this one, with their addresses.
    pub(super) fn others(&self, own: &NodeName) -> BTreeMap<NodeName, Arc<str>> {
        let leaders = self.leaders.values().map(|it| &it.leader.member.node);
        let nodes: BTreeSet<_> = self.members.keys().chain(leaders).collect();
        let others = nodes.into_iter().filter(|node| *node != own);
        others
            .filter_map(|node| Some((node.clone(), self.address_of(node)?.clone())))
            .collect()
    }

    fn address_of(&self, node: &NodeName) -> Option<&Arc<str>> {
        let of_member = || self.members.get(node);
        let led = self.leader_address(node, true).or_else(of_member);
        led.or_else(|| self.leader_address(node, false))
    }

    /// Returns the address in the last leadership of a node.
    fn leader_address(&self, node: &NodeName, leads: bool) -> Option<&Arc<str>> {
        let its = |led: &&LastLeader| led.leads == leads && led.leader.member.node == *node;
        let last = self.leaders.values().filter(its);
        let last = last.max_by_key(|led| led.leader.epoch)?;
        Some(&last.leader.member.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::LeaseId;

    fn member(address: &str) -> Member {
        Member {
            node: "b".into(),
            address: address.into(),
        }
    }

    fn leader(address: &str, epoch: u64) -> Leader {
        Leader {
            member: member(address),
            epoch,
            lease: LeaseId(1),
        }
    }

    fn address(addresses: &NodeAddresses) -> Option<Arc<str>> {
        addresses.others(&"a".into()).remove("b")
    }

    #[test]
    fn leadership_tells_the_address_before_the_member_does() {
        let mut addresses = NodeAddresses::default();
        addresses.set_members(&[member("m:1")]);
        assert_eq!(address(&addresses), Some("m:1".into()));
        addresses.set_leader(ShardId(0), Some(&leader("l:1", 5)));
        assert_eq!(address(&addresses), Some("l:1".into()));
        addresses.set_members(&[member("m:2")]);
        assert_eq!(address(&addresses), Some("l:1".into()));
        // It comes back elsewhere, and its earlier leadership has not been noticed to have ended.
        addresses.set_leader(ShardId(1), Some(&leader("l:2", 7)));
        addresses.set_leader(ShardId(0), Some(&leader("l:1", 5)));
        assert_eq!(address(&addresses), Some("l:2".into()));
    }

    #[test]
    fn leadership_that_has_ended_tells_the_address_only_of_a_node_that_is_no_member() {
        let mut addresses = NodeAddresses::default();
        addresses.set_leader(ShardId(0), Some(&leader("l:1", 5)));
        addresses.set_leader(ShardId(0), None);
        assert_eq!(address(&addresses), Some("l:1".into()));
        addresses.set_members(&[member("m:1")]);
        assert_eq!(address(&addresses), Some("m:1".into()));
    }

    #[test]
    fn there_is_no_address_for_the_node_itself_nor_for_one_that_is_gone() {
        let mut addresses = NodeAddresses::default();
        addresses.set_members(&[member("m:1")]);
        assert_eq!(addresses.others(&"b".into()), BTreeMap::new());
        addresses.set_members(&[]);
        assert_eq!(address(&addresses), None);
    }
}
