//! How the copies of a task ended, for a bound of its failures.

use std::collections::{BTreeMap, BTreeSet};

use crate::scheduler::ConsumerId;

/// What is known of the copies of each revision.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    /// The copies of a round that were written, or can have been, and were not declined.
    written: BTreeMap<(u64, u32), BTreeSet<ConsumerId>>,
    /// The rounds of which a copy was given back as failed. It can be reported again afterwards.
    failed: BTreeSet<(u64, u32)>,
    /// The number of copies that ended without a failure.
    unharmed: BTreeMap<u64, u32>,
    /// The number of copies that can have failed otherwise.
    others: BTreeMap<u64, u32>,
}

impl Outcomes {
    pub(super) fn written(&mut self, seq: u64, attempt: u32, consumer: ConsumerId) {
        self.written
            .entry((seq, attempt))
            .or_default()
            .insert(consumer);
    }

    /// A copy that is in flight is declined.
    pub(super) fn copy_end(&mut self, seq: u64, attempt: u32, consumer: ConsumerId) {
        if let Some(written) = self.written.get_mut(&(seq, attempt)) {
            written.remove(&consumer);
        }
        self.unwritten(seq);
    }

    /// A copy that is in flight is given back as failed.
    pub(super) fn failed(&mut self, seq: u64, attempt: u32) {
        self.failed.insert((seq, attempt));
    }

    /// Nothing of a copy was written.
    pub(super) fn unwritten(&mut self, seq: u64) {
        *self.unharmed.entry(seq).or_default() += 1;
    }

    /// A copy of which little is known can fail.
    pub(super) fn can_fail(&mut self, seq: u64) {
        *self.others.entry(seq).or_default() += 1;
    }

    /// The most failures that a revision can have: those of rounds of which a copy was written, and
    /// each end without a failure after the tenth.
    pub(super) fn most_failures(&self, seq: u64) -> u32 {
        let (from, to) = ((seq, 0), (seq, u32::MAX));
        let rounds = self.written.range(from..=to);
        let written = rounds.filter(|(_, consumers)| !consumers.is_empty());
        let written = written.map(|(round, _)| round);
        let failed: BTreeSet<_> = self.failed.range(from..=to).chain(written).collect();
        let unharmed = self.unharmed.get(&seq).copied().unwrap_or(0);
        let others = self.others.get(&seq).copied().unwrap_or(0);
        u32::try_from(failed.len()).unwrap() + unharmed.saturating_sub(10) + others
    }
}
