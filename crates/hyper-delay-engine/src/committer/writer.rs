use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    dirty::Dirty,
    group::Group,
    handover::{Handover, Taken},
    pace::Pace,
};
use crate::{metrics::Metrics, pulse::Pulses, scheduler::Committed, sizes::Sizes};
use hyper_delay_config::Sync;
use hyper_delay_store::{Durability, Store, StoreError};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::committer::writer";

/// Writes groups, and syncs.
pub struct Writer<S> {
    store: Arc<S>,
    durability: Durability,
    dirty: Dirty,
    pace: Pace,
    sizes: Sizes,
    handover: Arc<Handover>,
    metrics: Arc<Metrics>,
    pulses: Arc<Pulses>,
}

impl<S> fmt::Debug for Writer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl<S: Store> Writer<S> {
    pub(super) fn new(store: Arc<S>, sync: Sync, sizes: Sizes, handover: Arc<Handover>) -> Self {
        Self {
            store,
            durability: match sync {
                Sync::Always => Durability::Synced,
                Sync::Interval(_) | Sync::Never => Durability::Written,
            },
            dirty: Dirty::new(sync),
            pace: Pace::default(),
            sizes,
            handover,
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
    pub fn watched(mut self, pulses: Arc<Pulses>) -> Self {
        self.pulses = pulses;
        self
    }

    /// Commits groups and reports each with `tell` until the applier ends, then syncs in every
    /// mode.
    ///
    /// # Errors
    ///
    /// The store failed, or the applier did. Jobs that were not reported may be on disk at the next
    /// start, or not.
    pub fn run(mut self, tell: impl FnMut(Vec<Committed>)) -> Result<(), StoreError> {
        let ended = self.run_all(tell);
        self.pulses.writer.rests();
        ended
    }

    fn run_all(&mut self, mut tell: impl FnMut(Vec<Committed>)) -> Result<(), StoreError> {
        loop {
            self.pulses.writer.rests();
            let wait = match self.metrics.forecast.is_counting() {
                true => Some(Duration::ZERO),
                false => self.dirty.wait(),
            };
            let taken = self.handover.take(wait, self.pace.patience());
            self.pulses.writer.works();
            match taken {
                Taken::Group(group) => tell(self.commit(group)?),
                Taken::Nothing => {}
                Taken::End(result) => {
                    result?;
                    return self.store.sync();
                }
            }
            self.metrics.forecast.count_on(&*self.store, self.sizes)?;
            if self.dirty.wait() == Some(Duration::ZERO) {
                self.metrics.write.during(|| self.store.sync())?;
                self.dirty.synced();
            }
        }
    }

    fn commit(&mut self, group: Group) -> Result<Vec<Committed>, StoreError> {
        let Group {
            mut batch,
            committed,
            bytes,
        } = group;
        let mut duration = None;
        if !batch.is_empty() {
            let due = batch.take_due();
            let begun = Instant::now();
            let commit = || self.store.commit(batch, self.durability);
            self.metrics.write.during(commit)?;
            let elapsed = begun.elapsed();
            duration = Some(elapsed);
            self.metrics.forecast.committed(&due);
            self.metrics.commit_time.observe_time(elapsed);
            self.metrics.batch_size.observe(committed.len() as u64);
            self.dirty.written();
        }
        self.pace.written(committed.len(), duration);
        tracing::trace!(target: TARGET, jobs = committed.len(), bytes, "committed");
        Ok(committed)
    }
}

impl<S> Drop for Writer<S> {
    fn drop(&mut self) {
        self.handover.end_writer();
    }
}
