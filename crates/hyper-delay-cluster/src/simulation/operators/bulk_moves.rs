//! Operators move many tasks, in some histories.

use std::{collections::BTreeMap, sync::Arc};

use hyper_delay_protocol::BulkMoveTo;

/// Whether they do, and how.
#[derive(Debug)]
pub(super) struct BulkMoves {
    /// Of their own, so that histories without them do not depend on them.
    pub(super) random: fastrand::Rng,
    are_made: bool,
}

impl BulkMoves {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed ^ 0x6275_6c6b);
        Self {
            are_made: random.u8(0..6) == 0,
            random,
        }
    }

    pub(super) const fn are_made(&self) -> bool {
        self.are_made
    }
}

/// The moves of many tasks that were requested. They take effect at any later time.
#[derive(Debug, Default)]
pub(in crate::simulation) struct SentBulkMoves {
    /// The earliest new due time of the tasks of each route, in Unix milliseconds.
    earliest: BTreeMap<Arc<str>, u64>,
}

impl SentBulkMoves {
    /// An operator requests a move, at `now` in Unix milliseconds.
    pub(super) fn sent(&mut self, route: &Arc<str>, to: BulkMoveTo, now: u64) {
        let earliest = match to {
            BulkMoveTo::Now => now,
            BulkMoveTo::At(due) => due,
            BulkMoveTo::Later(_) => u64::MAX,
        };
        let known = self.earliest.entry(route.clone()).or_insert(u64::MAX);
        *known = earliest.min(*known);
    }

    /// Returns the earliest time at which a task of the route can be due because of them, in Unix
    /// milliseconds. `None`: there are none.
    pub(in crate::simulation) fn earliest(&self, route: &str) -> Option<u64> {
        self.earliest.get(route).copied()
    }
}
