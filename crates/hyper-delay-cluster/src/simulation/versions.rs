//! Nodes of version 0.3 beside those of this one, as in a cluster that is upgraded node by node.
//!
//! A node of 0.3 stores no failures and does not keep the index of retrying tasks. Nodes of different
//! versions have no links.

use std::collections::BTreeSet;

use super::{
    FaultSet,
    events::SimulationEvent,
    world::{MILLI, World},
};
use hyper_delay_engine::release::Release;

/// Which nodes have which version.
#[derive(Debug)]
pub(super) struct NodeVersions {
    /// Of their own, so that the rest of a history does not depend on them.
    random: fastrand::Rng,
    /// The nodes of version 0.3.
    older: BTreeSet<usize>,
    /// Whether the history began with nodes of version 0.3.
    is_upgrade: bool,
}

impl NodeVersions {
    /// Draws whether all nodes begin with version 0.3.
    pub(super) fn new(seed: u64, nodes: usize, faults: FaultSet) -> Self {
        let mut random = fastrand::Rng::with_seed(seed ^ 0x7570_6772);
        // Without links more goes wrong than such a history allows.
        let is_upgrade = random.u8(0..4) == 0 && faults == FaultSet::All;
        Self {
            random,
            older: (0..nodes).filter(|_| is_upgrade).collect(),
            is_upgrade,
        }
    }

    pub(super) const fn is_upgrade(&self) -> bool {
        self.is_upgrade
    }

    /// Returns the release of a node.
    pub(super) fn release(&self, node: usize) -> Release {
        match self.is_older(node) {
            true => Release::V0_3,
            false => Release::Current,
        }
    }

    fn is_older(&self, node: usize) -> bool {
        self.older.contains(&node)
    }

    /// Whether two nodes have the same version.
    pub(super) fn are_same(&self, one: usize, other: usize) -> bool {
        self.is_older(one) == self.is_older(other)
    }

    /// A node starts, and may be upgraded before.
    pub(super) fn start(&mut self, node: usize, is_calm: bool) {
        if self.is_older(node) && (is_calm || self.random.u8(0..3) == 0) {
            self.older.remove(&node);
        }
    }
}

impl World {
    /// In the end all nodes are upgraded, one at a time.
    pub(super) fn upgrade_all(&mut self) {
        for (node, pause) in (0..self.nodes.len()).zip(0..) {
            if self.versions.is_older(node) && self.nodes[node].process.is_some() {
                self.hand_over(node);
                let life = self.process_id(node);
                let pause = (50 + 300 * pause) * MILLI;
                self.after(pause, SimulationEvent::End(life));
            }
        }
    }
}
