//! Copies that serving nodes may have and have not told the leader of.

use std::collections::BTreeMap;

use crate::{cluster::log::NodeName, scheduler::GoneCopy};

/// The copies that were in flight at a planned hand-over or when a link broke, by the node of their
/// connections, until the node tells what it has.
#[derive(Debug, Default)]
pub(super) struct Away(BTreeMap<NodeName, Vec<AwayCopy>>);

#[derive(Debug)]
struct AwayCopy {
    copy: GoneCopy,
    /// Its number in this leadership, if it is not known to have arrived.
    number: Option<u64>,
}

impl Away {
    /// Adds a copy, with its number if it is not known to have arrived.
    pub(super) fn add(&mut self, node: &NodeName, copy: GoneCopy, number: Option<u64>) {
        let copy = AwayCopy { copy, number };
        match self.0.get_mut(node) {
            Some(copies) => copies.push(copy),
            None => {
                self.0.insert(node.clone(), vec![copy]);
            }
        }
    }

    /// A node says which copy of this leadership was the last that arrived. A later one was lost with
    /// the link: no connection has had it, so it has not failed.
    pub(super) fn heard(&mut self, node: &NodeName, last: u64) {
        for away in self.0.get_mut(node).into_iter().flatten() {
            if away.number.take().is_some_and(|number| number > last) {
                away.copy.has_failed = false;
            }
        }
    }

    /// A node tells that it has a copy.
    pub(super) fn told(&mut self, node: &NodeName, (seq, attempt): (u64, u32)) {
        if let Some(copies) = self.0.get_mut(node)
            && let Some(place) = copies
                .iter()
                .position(|it| (it.copy.seq, it.copy.attempt) == (seq, attempt))
        {
            copies.swap_remove(place);
        }
    }

    /// A node has told everything. Returns the copies that it does not have.
    pub(super) fn take(&mut self, node: &NodeName) -> Vec<GoneCopy> {
        let copies = self.0.remove(node).unwrap_or_default();
        copies.into_iter().map(|away| away.copy).collect()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&NodeName, GoneCopy)> {
        let nodes = self.0.iter();
        nodes.flat_map(|(node, copies)| copies.iter().map(move |away| (node, away.copy)))
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
}
