use std::collections::VecDeque;

use crate::ledger::Op;

/// What has been asked of the committer and is not on disk yet: for each job, in their order, from when on the
/// task will wait (Unix milliseconds).
#[derive(Debug, Default)]
pub(super) struct Promised {
    times: VecDeque<u64>,
    /// How many of them park a task.
    parks: usize,
}

impl Promised {
    pub(super) fn submitted(&mut self, op: &Op) {
        self.parks += usize::from(matches!(op, Op::Park(_)));
        self.times.push_back(match op {
            Op::Schedule(order) => order.at,
            Op::Retry { at, .. } | Op::Kick { at, .. } => *at,
            _ => u64::MAX,
        });
    }

    pub(super) fn committed(&mut self, op: &Op) {
        self.parks -= usize::from(matches!(op, Op::Park(_)));
        self.times.pop_front();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    pub(super) const fn parks(&self) -> usize {
        self.parks
    }

    /// The earliest.
    pub(super) fn earliest(&self) -> Option<u64> {
        self.times.iter().min().copied()
    }
}
