//! Copies that serving nodes may have and have not told the leader of.

use std::collections::BTreeMap;

use crate::log::NodeName;
use hyper_delay_engine::scheduler::GoneCopy;

/// The copies that were in flight at a planned hand-over or when a link broke, by the node of their
/// connections, until the node tells what it has.
#[derive(Debug, Default)]
pub(super) struct Away {
    nodes: BTreeMap<NodeName, BTreeMap<Place, AwayCopy>>,
    /// The number of copies that were added.
    added: u64,
}

/// The revision and the round of a copy. A node can have several copies of a round, so they are told
/// apart by the order in which they were added.
type Place = (u64, u32, u64);

#[derive(Debug)]
struct AwayCopy {
    copy: GoneCopy,
    /// Its number in this leadership, if it is not known to have arrived.
    number: Option<u64>,
}

impl Away {
    /// Adds a copy, with its number if it is not known to have arrived.
    pub(super) fn add(&mut self, node: &NodeName, copy: GoneCopy, number: Option<u64>) {
        self.added += 1;
        let place = (copy.seq, copy.attempt, self.added);
        let copies = self.nodes.entry(node.clone()).or_default();
        copies.insert(place, AwayCopy { copy, number });
    }

    /// A node says which copy of this leadership was the last that arrived. A later one was lost with
    /// the link: no connection has had it, so it has not failed.
    pub(super) fn heard(&mut self, node: &NodeName, last: u64) {
        let copies = self.nodes.get_mut(node).into_iter();
        for away in copies.flat_map(BTreeMap::values_mut) {
            if away.number.take().is_some_and(|number| number > last) {
                away.copy.has_failed = false;
            }
        }
    }

    /// A node tells that it has a copy.
    pub(super) fn told(&mut self, node: &NodeName, (seq, attempt): (u64, u32)) {
        if let Some(copies) = self.nodes.get_mut(node) {
            let of_round = (seq, attempt, 0)..=(seq, attempt, u64::MAX);
            let place = copies.range(of_round).next().map(|(place, _)| *place);
            place.and_then(|place| copies.remove(&place));
        }
    }

    /// A node has told everything. Returns the copies that it does not have.
    pub(super) fn take(&mut self, node: &NodeName) -> Vec<GoneCopy> {
        let copies = self.nodes.remove(node).unwrap_or_default();
        copies.into_values().map(|away| away.copy).collect()
    }

    pub(super) fn clear(&mut self) {
        self.nodes.clear();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&NodeName, GoneCopy)> {
        let nodes = self.nodes.iter();
        nodes.flat_map(|(node, copies)| copies.values().map(move |away| (node, away.copy)))
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
        let mut away = Away::default();
        away.add(&node, copy(1, true), None);
        away.add(&node, copy(2, true), Some(7));
        away.add(&node, copy(3, true), Some(8));
        away.heard(&node, 7);
        // A later session of the node has no news of them.
        away.heard(&node, 0);
        let gone = away.take(&node);
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
        let mut away = Away::default();
        for (seq, attempt) in [(1, 1), (2, 1), (2, 1), (2, 2), (3, 1)] {
            away.add(&node, copy(seq, attempt), None);
        }
        for told in [(2, 1), (1, 1), (1, 1), (9, 1)] {
            away.told(&node, told);
        }
        away.told(&"b".into(), (3, 1));
        assert_eq!(away.iter().count(), 3);
        assert_eq!(away.take(&node), [copy(2, 1), copy(2, 2), copy(3, 1)]);
    }
}
