//! Copies that serving nodes may have and have not told the leader of.

use std::collections::BTreeMap;

use crate::{cluster::log::NodeName, scheduler::GoneCopy};

/// The copies that were in flight at a planned hand-over or when a link broke, by the node of their
/// connections, until the node tells what it has.
#[derive(Debug, Default)]
pub(super) struct Away(BTreeMap<NodeName, Vec<GoneCopy>>);

impl Away {
    pub(super) fn add(&mut self, node: &NodeName, copy: GoneCopy) {
        match self.0.get_mut(node) {
            Some(copies) => copies.push(copy),
            None => {
                self.0.insert(node.clone(), vec![copy]);
            }
        }
    }

    /// A node tells that it has a copy.
    pub(super) fn told(&mut self, node: &NodeName, (seq, attempt): (u64, u32)) {
        if let Some(copies) = self.0.get_mut(node)
            && let Some(place) = copies
                .iter()
                .position(|it| (it.seq, it.attempt) == (seq, attempt))
        {
            copies.swap_remove(place);
        }
    }

    /// A node has told everything. Returns the copies that it does not have.
    pub(super) fn take(&mut self, node: &NodeName) -> Vec<GoneCopy> {
        self.0.remove(node).unwrap_or_default()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&NodeName, GoneCopy)> {
        let nodes = self.0.iter();
        nodes.flat_map(|(node, copies)| copies.iter().map(move |copy| (node, *copy)))
    }
}
