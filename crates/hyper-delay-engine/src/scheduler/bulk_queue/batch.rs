use std::{ops::ControlFlow, sync::Arc};

use super::RunningBulkJob;
use crate::{
    ledger::{LedgerView, ListingQuery, SweepAct},
    sizes::{Size, Sizes},
};
use hyper_delay_store::{
    Space, Store, StoreError,
    record::{JobAction, Place},
};

/// The most keys that one batch reads.
const fn keys_of(sizes: Sizes) -> usize {
    4 * sizes.bulk_tasks
}

/// The next batch of a bulk operation.
#[derive(Debug, Default)]
pub(super) struct BulkBatch {
    pub(super) tasks: Vec<(Arc<str>, u64, SweepAct)>,
    /// Where the one after it begins. `None` if there is none.
    pub(super) cursor: Option<Box<[u8]>>,
}

impl RunningBulkJob {
    /// Reads the next batch. `now` is in Unix milliseconds; `is_in_flight` says whether consumers can
    /// have a revision.
    pub(super) fn read_batch(
        &self,
        view: &LedgerView<impl Store>,
        sizes: Sizes,
        now: u64,
        is_in_flight: impl Fn(u64) -> bool,
    ) -> Result<BulkBatch, StoreError> {
        match self.act {
            JobAction::Kick | JobAction::Delete => self.dead_batch(view, sizes, now),
            JobAction::Purge => self.purge_batch(view, sizes, is_in_flight),
        }
    }

    /// Tasks that were scheduled after the bulk operation have higher numbers. Their deaths can
    /// have earlier times, if the clock was set back.
    fn dead_batch(
        &self,
        view: &LedgerView<impl Store>,
        sizes: Sizes,
        now: u64,
    ) -> Result<BulkBatch, StoreError> {
        let listing = ListingQuery {
            space: Space::Dead,
            route: Some(&self.route),
            filter: &self.filter,
            after: Some(&*self.cursor).filter(|cursor| !cursor.is_empty()),
        };
        let page = view.list(&listing, sizes.bulk_tasks, keys_of(sizes))?;
        let rows = page.rows.into_iter();
        let tasks = rows.filter(|row| row.position.seq < self.id).map(|row| {
            let place = Place::Dead(row.position.at);
            let act = match self.act {
                JobAction::Kick => SweepAct::Kick { place, at: now },
                _ => SweepAct::Delete { place },
            };
            (row.id, row.position.seq, act)
        });
        if page.next.is_some() {
            (sizes.reached)(Size::BulkTasks);
        }
        Ok(BulkBatch {
            tasks: tasks.collect(),
            cursor: page.next.map(|(key, _)| (&*key).into()),
        })
    }

    /// As for dead letters, later tasks have higher numbers.
    fn purge_batch(
        &self,
        view: &LedgerView<impl Store>,
        sizes: Sizes,
        is_in_flight: impl Fn(u64) -> bool,
    ) -> Result<BulkBatch, StoreError> {
        let after = std::str::from_utf8(&self.cursor)
            .map_err(|error| StoreError::damage("read the cursor of a job", error))?;
        let mut batch = BulkBatch::default();
        let mut read = 0;
        let after = Some(after).filter(|after| !after.is_empty());
        view.names(&self.route, after, |id, name| {
            read += 1;
            // An earlier leader can have sent a copy of a dead letter.
            let is_dead = matches!(name.place, Place::Dead(_));
            let may_go = self.in_flight || is_dead || !is_in_flight(name.seq);
            if name.seq < self.id && may_go {
                batch.tasks.push((id.into(), name.seq, SweepAct::Purge));
            }
            if batch.tasks.len() < sizes.bulk_tasks && read < keys_of(sizes) {
                return ControlFlow::Continue(());
            }
            (sizes.reached)(Size::BulkTasks);
            batch.cursor = Some(id.as_bytes().into());
            ControlFlow::Break(())
        })?;
        Ok(batch)
    }
}
