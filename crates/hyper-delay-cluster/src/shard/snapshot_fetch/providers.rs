//! The choice of the node that gives a snapshot.

use crate::log::NodeName;

/// The nodes that can be asked for a snapshot.
#[derive(Debug, Clone, Copy)]
pub(in crate::shard) struct SnapshotProviders<'a> {
    pub(in crate::shard) members: &'a [NodeName],
    /// This node, which is not asked.
    pub(in crate::shard) own: &'a NodeName,
    /// Asked last: it has other work.
    pub(in crate::shard) leader: Option<&'a NodeName>,
}

impl SnapshotProviders<'_> {
    /// Returns a node whose snapshot a journal continues that begins with the entry `first`, and the
    /// last synced entry of the node. After each of the `failures`, it is another one.
    pub(in crate::shard) fn pick(
        self,
        reports: &[(NodeName, u64)],
        first: u64,
        failures: u32,
    ) -> Option<(NodeName, u64)> {
        let is_of_use = |(node, synced): &&(NodeName, u64)| {
            let is_member = self.members.contains(node) && node != self.own;
            is_member && synced + 1 >= first
        };
        let mut providers: Vec<_> = reports.iter().filter(is_of_use).collect();
        providers.sort_by_key(|(node, synced)| (Some(node) == self.leader, u64::MAX - synced));
        let place = failures as usize % providers.len().max(1);
        providers.get(place).map(|provider| (*provider).clone())
    }

    /// Returns why there is no provider, and the cure.
    pub(in crate::shard) const fn none_reason(self) -> &'static str {
        match self.members.len() {
            0 | 1 => {
                "the cluster has no other node: save its tasks with `hyper-delay export`, see \
                 \"No whole copy of a shard is left\" in docs/cluster.md"
            }
            _ => {
                "no other node has synced what the journal has no more: start the nodes that \
                 are down; if all run, see \"No whole copy of a shard is left\" in docs/cluster.md"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Picks for node `a` of four, of which `d` leads, in a journal that begins with entry 10.
    fn pick(reports: &[(&str, u64)], failures: u32) -> Option<(NodeName, u64)> {
        let members = ["a", "b", "c", "d"].map(NodeName::from);
        let reports = reports.iter().map(|(node, seq)| ((*node).into(), *seq));
        let reports: Vec<_> = reports.collect();
        let providers = SnapshotProviders {
            members: &members,
            own: &members[0],
            leader: Some(&members[3]),
        };
        providers.pick(&reports, 10, failures)
    }

    #[test]
    fn each_attempt_asks_another_node_and_the_leader_last() {
        let reports = [("a", 50), ("b", 20), ("c", 30), ("d", 40), ("removed", 60)];
        let picked = [0, 1, 2, 3].map(|failures| pick(&reports, failures));
        let expected = [("c", 30), ("b", 20), ("d", 40), ("c", 30)];
        let expected = expected.map(|(node, seq)| Some((NodeName::from(node), seq)));
        assert_eq!(picked, expected);
    }

    #[test]
    fn a_node_that_the_journal_does_not_continue_is_not_asked() {
        assert_eq!(pick(&[("a", 50), ("b", 8)], 0), None);
        assert_eq!(pick(&[("a", 50), ("b", 9)], 0), Some(("b".into(), 9)));
    }
}
