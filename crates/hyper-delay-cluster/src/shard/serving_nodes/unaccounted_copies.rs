//! Copies that serving nodes may have, and have not reported to the leader.

use std::collections::BTreeMap;

use crate::log::NodeName;
use hyper_delay_engine::scheduler::GoneCopy;

/// The copies that were in flight at a planned hand-over or when a link broke, by the node of their
/// connections, until the node reports what it has.
#[derive(Debug, Default)]
pub(super) struct UnaccountedCopies {
    nodes: BTreeMap<NodeName, BTreeMap<CopyKey, UnaccountedCopy>>,
    /// The number of copies that were added.
    added: u64,
}

/// The revision and the round of a copy. A node can have several copies of a round: the order in
/// which they were added distinguishes them.
type CopyKey = (u64, u32, u64);

#[derive(Debug)]
struct UnaccountedCopy {
    copy: GoneCopy,
    /// Its number in this leadership, if it is not known to have arrived.
    number: Option<u64>,
}

impl UnaccountedCopies {
    /// Adds a copy, with its number if it is not known to have arrived.
    pub(super) fn add(&mut self, node: &NodeName, copy: GoneCopy, number: Option<u64>) {
        self.added += 1;
        let place = (copy.seq, copy.attempt, self.added);
        let copies = self.nodes.entry(node.clone()).or_default();
        copies.insert(place, UnaccountedCopy { copy, number });
    }

    /// A node reports the last copy of this leadership that has arrived. A later one was lost with
    /// the link: no connection has had it, so it has not failed.
    pub(super) fn mark_arrived(&mut self, node: &NodeName, last: u64) {
        let copies = self.nodes.get_mut(node).into_iter();
        for entry in copies.flat_map(BTreeMap::values_mut) {
            if entry.number.take().is_some_and(|number| number > last) {
                entry.copy.has_failed = false;
            }
        }
    }

    /// Removes a copy that a node has reported.
    pub(super) fn remove(&mut self, node: &NodeName, (seq, attempt): (u64, u32)) {
        if let Some(copies) = self.nodes.get_mut(node) {
            let of_round = (seq, attempt, 0)..=(seq, attempt, u64::MAX);
            let place = copies.range(of_round).next().map(|(place, _)| *place);
            place.and_then(|place| copies.remove(&place));
        }
    }

    /// A node has reported everything. Returns the copies that it does not have.
    pub(super) fn take(&mut self, node: &NodeName) -> Vec<GoneCopy> {
        let copies = self.nodes.remove(node).unwrap_or_default();
        copies.into_values().map(|entry| entry.copy).collect()
    }

    pub(super) fn clear(&mut self) {
        self.nodes.clear();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&NodeName, GoneCopy)> {
        let nodes = self.nodes.iter();
        nodes.flat_map(|(node, copies)| copies.values().map(move |entry| (node, entry.copy)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_not_arrived_has_not_failed() {
        let node: NodeName = "a".into();
        let copy = |seq, has_failed| GoneCopy {
            seq,
            attempt: 1,
            has_failed,
        };
        let mut copies = UnaccountedCopies::default();
        copies.add(&node, copy(1, true), None);
        copies.add(&node, copy(2, true), Some(7));
        copies.add(&node, copy(3, true), Some(8));
        copies.mark_arrived(&node, 7);
        // A later session of the node has no news of them.
        copies.mark_arrived(&node, 0);
        let gone = copies.take(&node);
        assert_eq!(gone, [copy(1, true), copy(2, true), copy(3, false)]);
    }

    #[test]
    fn a_node_tells_of_each_copy_of_a_round_for_itself() {
        let node: NodeName = "a".into();
        let copy = |seq, attempt| GoneCopy {
            seq,
            attempt,
            has_failed: true,
        };
        let mut copies = UnaccountedCopies::default();
        for (seq, attempt) in [(1, 1), (2, 1), (2, 1), (2, 2), (3, 1)] {
            copies.add(&node, copy(seq, attempt), None);
        }
        for reported in [(2, 1), (1, 1), (1, 1), (9, 1)] {
            copies.remove(&node, reported);
        }
        copies.remove(&"b".into(), (3, 1));
        assert_eq!(copies.iter().count(), 3);
        assert_eq!(copies.take(&node), [copy(2, 1), copy(2, 2), copy(3, 1)]);
    }
}
