use std::{ops::ControlFlow, sync::Arc};

use super::{BatchTimes, RunningBulkJob};
use crate::{
    ledger::{LedgerView, ListingQuery, SweepAct, SweepMove, selects},
    sizes::{Size, Sizes},
};
use hyper_delay_protocol::BulkAct;
use hyper_delay_store::{
    Space, Store, StoreError,
    record::{Name, Place},
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
    /// Reads the next batch. `is_in_flight` says whether consumers can have a revision.
    pub(super) fn read_batch(
        &self,
        view: &LedgerView<impl Store>,
        sizes: Sizes,
        BatchTimes { now, latest }: BatchTimes,
        is_in_flight: impl Fn(u64) -> bool,
    ) -> Result<BulkBatch, StoreError> {
        match self.act {
            BulkAct::Kick => {
                self.dead_batch(view, sizes, |place| SweepAct::Kick { place, at: now })
            }
            BulkAct::Delete => self.dead_batch(view, sizes, |place| SweepAct::Delete { place }),
            BulkAct::Purge => self.names_batch(view, sizes, SweepAct::Purge, |name| {
                // An earlier leader can have sent a copy of a dead letter.
                let is_dead = matches!(name.place, Place::Dead(_));
                self.in_flight || is_dead || !is_in_flight(name.seq)
            }),
            BulkAct::Move(moved) => {
                let to = moved.to;
                let act = SweepAct::Move(SweepMove { to, now, latest });
                self.names_batch(view, sizes, act, |name| {
                    selects(moved, &self.filter, name) && !is_in_flight(name.seq)
                })
            }
        }
    }

    /// Tasks that were scheduled after the bulk operation have higher numbers. Their deaths can
    /// have earlier times, if the clock was set back.
    fn dead_batch(
        &self,
        view: &LedgerView<impl Store>,
        sizes: Sizes,
        act: impl Fn(Place) -> SweepAct,
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
            let act = act(Place::Dead(row.position.at));
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

    /// Reads tasks of any state, in the order of their ids: a task that is moved keeps its place, so
    /// none is met twice. As for dead letters, later tasks have higher numbers.
    fn names_batch(
        &self,
        view: &LedgerView<impl Store>,
        sizes: Sizes,
        act: SweepAct,
        is_wanted: impl Fn(&Name) -> bool,
    ) -> Result<BulkBatch, StoreError> {
        let after = std::str::from_utf8(&self.cursor)
            .map_err(|error| StoreError::damage("read the cursor of a job", error))?;
        let mut batch = BulkBatch::default();
        let mut read = 0;
        let after = Some(after).filter(|after| !after.is_empty());
        view.names(&self.route, after, |id, name| {
            read += 1;
            if name.seq < self.id && is_wanted(&name) {
                batch.tasks.push((id.into(), name.seq, act));
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
