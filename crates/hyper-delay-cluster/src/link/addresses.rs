//! Which nodes this one has links to, and where they are.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    ShardId,
    log::{Leader, Member, NodeName},
};

/// What this node knows of the others.
///
/// The address of a node is that of its last leadership that has not ended, as only the process
/// with the lease of the node can begin one. Otherwise it is what the cluster knows of its member.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    leaders: BTreeMap<ShardId, Led>,
    members: BTreeMap<NodeName, Arc<str>>,
}

/// The last leader of a shard.
#[derive(Debug)]
struct Led {
    leader: Leader,
    /// Whether it leads, as far as this node knows.
    leads: bool,
}

impl Addresses {
    /// Who leads a shard, as far as this node knows. While that is not known, the last leader
    /// counts: it may lead again.
    pub(super) fn leader_is(&mut self, shard: ShardId, leader: Option<&Leader>) {
        match leader {
            Some(leader) => {
                let leader = leader.clone();
                self.leaders.insert(
                    shard,
                    Led {
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
    pub(super) fn members_are(&mut self, members: &[Member]) {
        let members = members.iter().cloned();
        self.members = members.map(|it| (it.node, it.address)).collect();
    }

    /// Returns all nodes but this one, with their addresses.
    pub(super) fn of_others(&self, own: &NodeName) -> BTreeMap<NodeName, Arc<str>> {
        let leaders = self.leaders.values().map(|it| &it.leader.member.node);
        let nodes: BTreeSet<_> = self.members.keys().chain(leaders).collect();
        let others = nodes.into_iter().filter(|node| *node != own);
        others
            .filter_map(|node| Some((node.clone(), self.of(node)?.clone())))
            .collect()
    }

    fn of(&self, node: &NodeName) -> Option<&Arc<str>> {
        let of_member = || self.members.get(node);
        let led = self.of_leader(node, true).or_else(of_member);
        led.or_else(|| self.of_leader(node, false))
    }

    /// Returns the address in the last leadership of a node.
    fn of_leader(&self, node: &NodeName, leads: bool) -> Option<&Arc<str>> {
        let its = |led: &&Led| led.leads == leads && led.leader.member.node == *node;
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

    fn address(addresses: &Addresses) -> Option<Arc<str>> {
        addresses.of_others(&"a".into()).remove("b")
    }

    #[test]
    fn leadership_tells_the_address_before_the_member_does() {
        let mut addresses = Addresses::default();
        addresses.members_are(&[member("m:1")]);
        assert_eq!(address(&addresses), Some("m:1".into()));
        addresses.leader_is(ShardId(0), Some(&leader("l:1", 5)));
        assert_eq!(address(&addresses), Some("l:1".into()));
        addresses.members_are(&[member("m:2")]);
        assert_eq!(address(&addresses), Some("l:1".into()));
        // It comes back elsewhere, and its earlier leadership has not been noticed to have ended.
        addresses.leader_is(ShardId(1), Some(&leader("l:2", 7)));
        addresses.leader_is(ShardId(0), Some(&leader("l:1", 5)));
        assert_eq!(address(&addresses), Some("l:2".into()));
    }

    #[test]
    fn leadership_that_has_ended_tells_the_address_only_of_a_node_that_is_no_member() {
        let mut addresses = Addresses::default();
        addresses.leader_is(ShardId(0), Some(&leader("l:1", 5)));
        addresses.leader_is(ShardId(0), None);
        assert_eq!(address(&addresses), Some("l:1".into()));
        addresses.members_are(&[member("m:1")]);
        assert_eq!(address(&addresses), Some("m:1".into()));
    }

    #[test]
    fn there_is_no_address_for_the_node_itself_nor_for_one_that_is_gone() {
        let mut addresses = Addresses::default();
        addresses.members_are(&[member("m:1")]);
        assert_eq!(addresses.of_others(&"b".into()), BTreeMap::new());
        addresses.members_are(&[]);
        assert_eq!(address(&addresses), None);
    }
}
