//! Inspects a store before it is opened, because opening it destroys evidence.
//!
//! The library truncates a journal where it stops reading, and deletes the folder of a space whose
//! file `current` or name is missing. So the inspection reads the tables and the journals first and
//! compares them with the commit record. Each commit writes a [`CommitMarker`] into every space that
//! it changes, so it is enough to read the last block of each space and the journals.

mod journal_replay;
mod loss;
mod space_tables;

use std::{io, path::Path};

use super::{
    CommitMarker,
    commit_record::{CommitFileState, CommitRecord},
    journal_file::JournalFile,
};
use hyper_delay_store::{Space, StoreError};
use journal_replay::JournalReplay;
pub(super) use loss::Loss;
use space_tables::{LossExtent, UnusablePart};

/// The contents of a store, and the damage to it.
#[derive(Debug)]
pub(super) struct Inspection {
    record: CommitFileState,
    /// `None` if no part of the store can be used.
    replay: Option<JournalReplay>,
    broken: Vec<UnusablePart>,
}

/// The steps to take before the store is opened.
#[derive(Debug, Default)]
pub(super) struct RecoveryPlan<'a> {
    /// Whether to replace the store by a new one, because no part of it can be used.
    pub(super) replaces_store: bool,
    /// Folders to move away, which the library would delete.
    pub(super) folders: Vec<&'a Path>,
    /// Journals to copy, which the library would truncate.
    pub(super) cuts: Vec<JournalCut<'a>>,
}

/// A journal whose end cannot be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct JournalCut<'a> {
    pub(super) journal: &'a Path,
    /// Number of readable bytes at the start.
    pub(super) readable: u64,
    /// Number of written bytes.
    pub(super) written: u64,
}

impl Inspection {
    /// Inspects the store in a folder.
    pub(super) fn of(store: &Path, record: CommitFileState) -> Result<Self, StoreError> {
        let (tables, broken) = space_tables::read(store)?;
        let replay = tables.map(|tables| JournalReplay::from_tables(tables, commits(&record)));
        let mut inspection = Self {
            record,
            replay,
            broken,
        };
        inspection
            .replay_journals(store)
            .map_err(|error| StoreError::new("read its journals", error).in_folder(store))?;
        Ok(inspection)
    }

    /// Returns the inspection of a store whose folder is missing.
    pub(super) fn of_missing_store(store: &Path, record: CommitFileState) -> Self {
        Self {
            record,
            replay: None,
            broken: vec![UnusablePart::missing_store(store)],
        }
    }

    fn replay_journals(&mut self, store: &Path) -> io::Result<()> {
        if let Some(replay) = &mut self.replay {
            for path in JournalFile::list(store)? {
                replay.replay(&JournalFile::read(&path)?);
            }
        }
        Ok(())
    }

    /// Returns the acknowledged commits that are missing. `None` if there are none.
    pub(super) fn loss(&self) -> Option<Loss> {
        let mut loss = Loss::new(&self.broken);
        let Some(replay) = &self.replay else {
            return Some(loss);
        };
        loss.add_gaps(&replay.gaps);
        match &self.record {
            CommitFileState::Read(record) => {
                for space in Space::ALL {
                    loss.compare(space, replay.last(space), record.space(space).last);
                }
                if !loss.is_empty() {
                    loss.add_totals(record, &replay.newest());
                }
            }
            // A store with markers had a record. A store of an older version has neither.
            CommitFileState::Missing if replay.newest().commit == 0 => {
                let is_torn_end =
                    |stop: &journal_replay::ReplayStop| stop.batches == 0 && stop.is_searched;
                if !replay.stops.iter().all(is_torn_end) {
                    loss.add_stops(&replay.stops);
                }
            }
            CommitFileState::Missing => loss.add_record_fault("is missing"),
            CommitFileState::Unreadable | CommitFileState::Newer(_) => {
                loss.add_record_fault("is damaged in both slots");
            }
        }
        if loss.is_empty() {
            return None;
        }
        loss.add_stops(&replay.stops);
        Some(loss)
    }

    /// Returns the steps to take before the store is opened.
    ///
    /// # Errors
    ///
    /// If a space cannot be opened. Only a repair helps then, even if a loss is accepted.
    pub(super) fn recovery_plan(&self) -> Result<RecoveryPlan<'_>, StoreError> {
        let mut cure = RecoveryPlan::default();
        for broken in &self.broken {
            match broken.extent {
                LossExtent::Store => cure.replaces_store = true,
                LossExtent::Folder => cure.folders.push(&broken.path),
                LossExtent::Space => {}
                LossExtent::Part => return Err(StoreError::damage("open", broken.to_string())),
            }
        }
        let stops = self.replay.iter().flat_map(|replay| &replay.stops);
        cure.cuts.extend(stops.map(|stop| JournalCut {
            journal: &stop.journal,
            readable: stop.range.start as u64,
            written: stop.range.end as u64,
        }));
        Ok(cure)
    }

    /// Returns the contents of the store once it is open. With `accepts_loss`, missing commits are
    /// no loss at the next start.
    pub(super) fn contents(&self, accepts_loss: bool) -> CommitRecord {
        let mut contents = commits(&self.record).copied().unwrap_or_default();
        let newest = match &self.replay {
            Some(replay) => replay.newest(),
            None => CommitMarker::default(),
        };
        if newest.commit >= contents.commit || accepts_loss {
            contents.schedules = newest.schedules;
            contents.removals = newest.removals;
        }
        contents.commit = contents.commit.max(newest.commit);
        for space in Space::ALL {
            let last = self.replay.as_ref().map_or(0, |replay| replay.last(space));
            let floor = contents.commit;
            let extent = contents.space_mut(space);
            extent.last = last;
            if accepts_loss {
                extent.floor = floor;
            }
        }
        contents
    }
}

const fn commits(record: &CommitFileState) -> Option<&CommitRecord> {
    match record {
        CommitFileState::Read(commits) => Some(commits),
        CommitFileState::Missing | CommitFileState::Unreadable | CommitFileState::Newer(_) => None,
    }
}
