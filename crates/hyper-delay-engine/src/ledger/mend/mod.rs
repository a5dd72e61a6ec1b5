//! Makes the spaces of a store agree after an accepted loss.
//!
//! Each space can have lost other commits than the rest: a space that was written to a table lately
//! is newer than one whose rows were only in a journal. So a row can be missing, or be of an older
//! state than the rows in other spaces.
//!
//! The decisions are those of a repair, except that the age of a row is not known here: of two
//! states of a revision, the one with more rounds is the newer. At the same number of rounds the
//! name decides.
//!
//! The key [`key::MENDING`] is written before the loss is accepted and removed by the last batch.
//! After a crash, the next start mends again. Every pass leaves what it has mended as it is.

mod contents;
mod duplicate_numbers;
mod entries;
mod mend_batch;
mod names;
mod report;

use std::ops::ControlFlow;

use crate::sizes::Sizes;
use hyper_delay_store::{
    Bytes, Durability, Space, Store, StoreError,
    record::{self, Digest, Name, Task, key},
};
use mend_batch::MendBatch;
use report::MendReport;

use super::dedupe_window::DedupeWindow;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::ledger::mend";

/// Mends a store if the loss of commits was accepted since it was mended.
///
/// # Errors
///
/// If the store cannot be read or written, or a newer server wrote it. The next call starts over.
pub fn mend_after_loss(store: &impl Store, sizes: Sizes) -> Result<(), StoreError> {
    if store.get(Space::Meta, key::MENDING)?.is_none() {
        return Ok(());
    }
    tracing::info!(target: TARGET, "the store lost commits: every task is checked");
    let mut mending = Mending::new(store, sizes);
    for space in [Space::Waiting, Space::Parked, Space::Dead] {
        mending.reconcile_entries(space)?;
    }
    let tasks = mending.restore_names()?;
    let shared = mending.remove_orphaned_contents()?;
    mending.renumber_duplicates(&shared)?;
    mending.finish()?;
    mending.report.log(tasks);
    Ok(())
}

#[derive(Debug)]
struct Mending<'a, S> {
    store: &'a S,
    sizes: Sizes,
    batch: MendBatch<'a, S>,
    /// The number after the highest one that was read.
    next: u64,
    report: MendReport,
}

/// The content of a revision.
#[derive(Debug, Clone, Copy)]
enum ContentState {
    Readable {
        fire_at: u64,
        digest: Digest,
        /// The length of the payload.
        bytes: u64,
    },
    /// It is in a damaged block. The task becomes a dead letter with a reason when it is due.
    Unreadable,
    /// It is missing or cannot be decoded.
    Missing,
}

impl<'a, S: Store> Mending<'a, S> {
    fn new(store: &'a S, sizes: Sizes) -> Self {
        Self {
            store,
            sizes,
            batch: MendBatch::new(store, sizes),
            next: 1,
            report: MendReport::default(),
        }
    }

    /// Calls `visit` with each row of a space, and commits the changes after some rows.
    fn for_each_row(
        &mut self,
        space: Space,
        mut visit: impl FnMut(&mut Self, &Bytes, &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut from = Vec::new();
        loop {
            let page = self.batch.page(space, &from)?;
            let Some((last, _)) = page.last() else {
                return Ok(());
            };
            from = mend_batch::after(last);
            for row in &page {
                // An earlier row of the page can have changed this one.
                if let Some(value) = self.batch.value_after_changes(space, row) {
                    visit(self, &row.0, &value)?;
                }
            }
            self.batch.commit(Durability::Written)?;
        }
    }

    /// Removes a row that cannot be decoded. Any other error is returned.
    fn drop_malformed(
        &mut self,
        space: Space,
        key: &Bytes,
        error: StoreError,
    ) -> Result<(), StoreError> {
        if !error.is_damage() {
            return Err(error);
        }
        self.report.malformed += 1;
        self.batch.remove(space, key.clone());
        Ok(())
    }

    fn note_number(&mut self, seq: u64) {
        self.next = self.next.max(seq.saturating_add(1));
    }

    /// Returns the state under a name. `None` if there is none that can be decoded.
    fn name(&self, key: &[u8]) -> Result<Option<Name>, StoreError> {
        match self.batch.get(Space::Names, key)? {
            Some(value) => unless_damaged(record::decode(&value)),
            None => Ok(None),
        }
    }

    fn content(&self, seq: u64) -> Result<ContentState, StoreError> {
        let value = match self.batch.get(Space::Tasks, &key::task(seq)) {
            Err(error) if error.is_damage() => return Ok(ContentState::Unreadable),
            value => value?,
        };
        let Some(value) = value else {
            return Ok(ContentState::Missing);
        };
        Ok(match unless_damaged::<Task<'_>>(record::decode(&value))? {
            Some(task) => ContentState::Readable {
                fire_at: task.fire_at,
                digest: task.digest(),
                bytes: task.payload.len() as u64,
            },
            None => ContentState::Missing,
        })
    }

    /// Returns why a task cannot be saved. `None` if its content is the one that was scheduled.
    fn unrecoverable_reason(&self, name: &Name) -> Result<Option<&'static str>, StoreError> {
        Ok(match self.content(name.seq)? {
            ContentState::Readable { digest, .. } if digest != name.digest => {
                Some("its content is not the one that was scheduled")
            }
            ContentState::Readable { .. } | ContentState::Unreadable => None,
            ContentState::Missing => Some(NO_CONTENT),
        })
    }

    /// Sets the keys in `meta` and removes the mark.
    fn finish(&mut self) -> Result<(), StoreError> {
        if let Some(value) = self.batch.get(Space::Meta, key::NUMBERS)?
            && let Some(next) = unless_damaged(record::decode(&value))?
        {
            self.next = self.next.max(next);
        }
        let next = record::encode(&self.next);
        self.batch.put(Space::Meta, key::NUMBERS, next);
        let mut earliest = None;
        self.store.scan(Space::Waiting, &[], &mut |key, _| {
            earliest = Some(key::time_of(key));
            ControlFlow::Break(())
        })?;
        if let Some((at, _)) = earliest.transpose()? {
            let at = record::encode(&at);
            self.batch.put(Space::Meta, key::LOW_WATER, at);
        }
        let window = DedupeWindow::encoded_with_unknown_age(self.store)?;
        self.batch.put(Space::Meta, key::DEDUPE_WINDOW, window);
        self.batch.remove(Space::Meta, key::MENDING);
        self.batch.commit(Durability::Synced)
    }
}

/// The reason for the removal of most tasks. A finished task has no content, either, and its name
/// or its entry can be left.
const NO_CONTENT: &str = "its content is missing: it was lost, or the task was finished";

fn unless_damaged<T>(read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Err(error) if error.is_damage() => Ok(None),
        read => read.map(Some),
    }
}
