use crate::{scheduler::Committed, store::Batch};

/// Jobs that are written as one batch.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) batch: Batch,
    /// What is reported once the batch is committed, in order.
    pub(super) committed: Vec<Committed>,
    /// Bytes of payloads.
    pub(super) bytes: usize,
}

impl Group {
    /// A group with this many jobs takes no more.
    pub(super) const JOBS: usize = 4096;

    /// A group with this many payload bytes takes no more jobs.
    pub(super) const BYTES: usize = 4 << 20;

    pub(super) fn is_full(&self) -> bool {
        self.committed.len() >= Self::JOBS || self.bytes >= Self::BYTES
    }
}
