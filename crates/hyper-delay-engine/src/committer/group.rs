use crate::scheduler::CommittedJob;
use hyper_delay_store::Batch;

/// Jobs that are written as one batch.
#[derive(Debug, Default)]
pub struct Group {
    pub(super) batch: Batch,
    /// What is reported once the batch is committed, in order.
    pub committed: Vec<CommittedJob>,
    /// Bytes of payloads.
    pub(super) bytes: usize,
}

impl Group {
    /// This many jobs are worth a sync: an idle writer gets them at once. So the jobs of a burst
    /// are applied, written and reported at the same time.
    pub(super) const ENOUGH: usize = 64;

    /// A group with this many jobs takes no more.
    pub(super) const JOBS: usize = 4096;

    /// A group with this many payload bytes takes no more jobs.
    pub(super) const BYTES: usize = 4 << 20;

    /// Returns whether it has just got enough jobs, or enough again.
    pub(super) fn is_worth_a_sync(&self) -> bool {
        let jobs = self.committed.len();
        jobs > 0 && jobs.is_multiple_of(Self::ENOUGH)
    }

    /// Returns whether no further job fits into it.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.committed.len() >= Self::JOBS || self.bytes >= Self::BYTES
    }
}
