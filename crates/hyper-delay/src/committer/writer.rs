use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    dirty::Dirty,
    group::Group,
    handover::{Handover, Taken},
    pace::Pace,
};
use crate::{
    config::Sync,
    scheduler::Committed,
    store::{Durability, Store, StoreError},
};

/// Writes groups, and syncs.
pub(crate) struct Writer<S> {
    store: Arc<S>,
    durability: Durability,
    dirty: Dirty,
    pace: Pace,
    handover: Arc<Handover>,
}

impl<S: Store> Writer<S> {
    pub(super) fn new(store: Arc<S>, sync: Sync, handover: Arc<Handover>) -> Self {
        Self {
            store,
            durability: match sync {
                Sync::Always => Durability::Synced,
                Sync::Interval(_) | Sync::Never => Durability::Written,
            },
            dirty: Dirty::new(sync),
            pace: Pace::default(),
            handover,
        }
    }

    /// Commits groups and reports each with `tell` until the applier ends, then syncs in every mode.
    ///
    /// # Errors
    ///
    /// The store failed, or the applier did. Jobs that were not reported may be on disk at the next
    /// start, or not.
    pub(crate) fn run(mut self, mut tell: impl FnMut(Vec<Committed>)) -> Result<(), StoreError> {
        loop {
            match self.handover.take(self.dirty.wait(), self.pace.patience()) {
                Taken::Group(group) => tell(self.commit(group)?),
                Taken::Nothing => {}
                Taken::End(result) => {
                    result?;
                    return self.store.sync();
                }
            }
            if self.dirty.wait() == Some(Duration::ZERO) {
                self.store.sync()?;
                self.dirty.synced();
            }
        }
    }

    fn commit(&mut self, group: Group) -> Result<Vec<Committed>, StoreError> {
        let Group {
            batch,
            committed,
            bytes,
        } = group;
        let mut duration = None;
        if !batch.is_empty() {
            let begun = Instant::now();
            self.store.commit(batch, self.durability)?;
            duration = Some(begun.elapsed());
            self.dirty.written();
        }
        self.pace.written(committed.len(), duration);
        tracing::trace!(jobs = committed.len(), bytes, "committed");
        Ok(committed)
    }
}

impl<S> Drop for Writer<S> {
    fn drop(&mut self) {
        self.handover.end_writer();
    }
}
