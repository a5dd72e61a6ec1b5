use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    commit_delay::CommitDelay,
    group::Group,
    group_slot::{GroupSlot, NextGroup},
    sync_timer::SyncTimer,
};
use crate::{
    metrics::Metrics, scheduler::CommittedJob, sizes::Sizes, thread_progress::ThreadProgress,
};
use hyper_delay_config::Sync;
use hyper_delay_store::{Durability, Store, StoreError};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::committer::writer";

/// Writes groups, and syncs.
pub struct BatchWriter<S> {
    store: Arc<S>,
    durability: Durability,
    sync_timer: SyncTimer,
    commit_delay: CommitDelay,
    sizes: Sizes,
    slot: Arc<GroupSlot>,
    metrics: Arc<Metrics>,
    pulses: Arc<ThreadProgress>,
}

impl<S> fmt::Debug for BatchWriter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchWriter").finish_non_exhaustive()
    }
}

impl<S: Store> BatchWriter<S> {
    pub(super) fn new(store: Arc<S>, sync: Sync, sizes: Sizes, slot: Arc<GroupSlot>) -> Self {
        Self {
            store,
            durability: match sync {
                Sync::Always => Durability::Synced,
                Sync::Interval(_) | Sync::Never => Durability::Written,
            },
            sync_timer: SyncTimer::new(sync),
            commit_delay: CommitDelay::default(),
            sizes,
            slot,
            metrics: Arc::default(),
            pulses: Arc::default(),
        }
    }

    /// Counts the batches there. Default: nothing sees the counts.
    pub fn with_metrics(mut self, metrics: Arc<Metrics>) -> Self {
        self.metrics = metrics;
        self
    }

    /// Notes in `pulses` when it works.
    pub fn with_progress(mut self, pulses: Arc<ThreadProgress>) -> Self {
        self.pulses = pulses;
        self
    }

    /// Commits groups and reports each with `report` until the applier ends, then syncs in every
    /// mode.
    ///
    /// # Errors
    ///
    /// The store failed, or the applier did. Jobs that were not reported may be on disk at the next
    /// start, or not.
    pub fn run(mut self, report: impl FnMut(Vec<CommittedJob>)) -> Result<(), StoreError> {
        let ended = self.run_all(report);
        self.pulses.writer.begin_wait();
        ended
    }

    fn run_all(&mut self, mut report: impl FnMut(Vec<CommittedJob>)) -> Result<(), StoreError> {
        loop {
            self.pulses.writer.begin_wait();
            let wait = match self.metrics.forecast.is_counting() {
                true => Some(Duration::ZERO),
                false => self.sync_timer.time_to_sync(),
            };
            let taken = self.slot.take(wait, self.commit_delay.target_and_limit());
            self.pulses.writer.begin_work();
            match taken {
                NextGroup::Group(group) => report(self.commit(group)?),
                NextGroup::Nothing => {}
                NextGroup::End(result) => {
                    result?;
                    return self.store.sync();
                }
            }
            self.metrics
                .forecast
                .count_next_slice(&*self.store, self.sizes)?;
            if self.sync_timer.time_to_sync() == Some(Duration::ZERO) {
                self.metrics.write.run(|| self.store.sync())?;
                self.sync_timer.note_sync();
            }
        }
    }

    fn commit(&mut self, group: Group) -> Result<Vec<CommittedJob>, StoreError> {
        let Group {
            mut batch,
            committed,
            bytes,
        } = group;
        let mut duration = None;
        if !batch.is_empty() {
            let due = batch.take_waiting_changes();
            let begun = Instant::now();
            let commit = || self.store.commit(batch, self.durability);
            self.metrics.write.run(commit)?;
            let elapsed = begun.elapsed();
            duration = Some(elapsed);
            self.metrics.forecast.committed(&due);
            self.metrics.commit_time.observe_time(elapsed);
            self.metrics.batch_size.observe(committed.len() as u64);
            self.sync_timer.note_write();
        }
        self.commit_delay.note_commit(committed.len(), duration);
        tracing::trace!(target: TARGET, jobs = committed.len(), bytes, "committed");
        Ok(committed)
    }
}

impl<S> Drop for BatchWriter<S> {
    fn drop(&mut self) {
        self.slot.end_writer();
    }
}
