use std::collections::{BTreeMap, BTreeSet};

use super::{BulkAdvance, NewBulkJob, scan::scan_meta, write_buffer::WriteBuffer};
use crate::sizes::{Size, Sizes};
use hyper_delay_store::{
    Space, Store, StoreError,
    record::{self, BulkJob, JobState, key},
};

/// The bulk operations. Their counts are written with the batches that they count.
#[derive(Debug)]
pub(super) struct BulkJobs {
    sizes: Sizes,
    by_id: BTreeMap<u64, BulkJob>,
    changed: BTreeSet<u64>,
}

impl BulkJobs {
    /// Reads the bulk operations of a store.
    pub(super) fn open(store: &impl Store, sizes: Sizes) -> Result<Self, StoreError> {
        let mut jobs = Self {
            sizes,
            by_id: BTreeMap::new(),
            changed: BTreeSet::new(),
        };
        scan_meta(store, key::JOBS, |rest, value| {
            let id = key::number_of(rest)?;
            jobs.by_id.insert(id, record::decode(value)?);
            Ok(())
        })?;
        Ok(jobs)
    }

    /// Returns the running bulk operations in the order in which they began.
    pub(super) fn running(&self) -> impl Iterator<Item = (u64, &BulkJob)> {
        let all = self.by_id.iter().map(|(id, job)| (*id, job));
        all.filter(|(_, job)| job.state == JobState::Running)
    }

    /// Begins a bulk operation under an unused number.
    pub(super) fn begin(&mut self, id: u64, bulk: &NewBulkJob) {
        self.by_id.insert(id, bulk.to_stored_job());
        self.changed.insert(id);
    }

    /// Counts a task that a bulk operation has changed.
    pub(super) fn count(&mut self, id: u64) {
        if let Some(job) = self.by_id.get_mut(&id) {
            job.changed += 1;
            self.changed.insert(id);
        }
    }

    /// Returns a bulk operation.
    pub(super) fn find(&self, id: u64) -> Option<&BulkJob> {
        self.by_id.get(&id)
    }

    /// Counts a task that a bulk operation has moved. It continues after this task, even if the rest
    /// of the batch is lost: a task that is moved by some time is not moved twice.
    pub(super) fn count_moved(&mut self, id: u64, task: &str) {
        self.count(id);
        if let Some(job) = self.by_id.get_mut(&id) {
            job.cursor = task.as_bytes().into();
        }
    }

    /// Moves a bulk operation on, or ends it. Returns it if it was running.
    pub(super) fn advance(&mut self, advance: &BulkAdvance) -> Option<&BulkJob> {
        let job = self.by_id.get_mut(&advance.job)?;
        if job.state != JobState::Running {
            return None;
        }
        job.state = advance.state;
        if job.state == JobState::Running {
            job.cursor = advance.cursor.clone();
        } else {
            job.ended_at = advance.at;
        }
        self.changed.insert(advance.job);
        Some(job)
    }

    /// Adds the changed bulk operations to the batch, and removes those that ended first. Those of
    /// this batch ended last, whatever the clock says.
    pub(super) fn write(&mut self, writes: &mut WriteBuffer<impl Store>) {
        if self.changed.is_empty() {
            return;
        }
        let changed = std::mem::take(&mut self.changed);
        for id in &changed {
            if let Some(job) = self.by_id.get(id) {
                writes.put(Space::Meta, key::job(*id), record::encode(job));
            }
        }
        let ended = self.by_id.iter();
        let ended = ended.filter(|(_, job)| job.state != JobState::Running);
        let ended = ended.map(|(id, job)| (changed.contains(id), job.ended_at, *id));
        let mut ended: Vec<_> = ended.collect();
        ended.sort_unstable();
        for (_, _, id) in &ended[..ended.len().saturating_sub(self.sizes.ended_jobs)] {
            (self.sizes.reached)(Size::EndedJobs);
            self.by_id.remove(id);
            writes.remove(Space::Meta, key::job(*id));
        }
    }
}
