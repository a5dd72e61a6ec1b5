//! Inspects a store before it is opened, because opening it destroys evidence.
//!
//! The library truncates a journal where it stops reading, and deletes the folder of a space whose
//! file `current` or name is missing. So the inspection reads the tables and the journals first and
//! compares them with the commit record. Each commit writes a [`Marker`] into every space that it
//! changes, so it is enough to read the last block of each space and the journals.

mod loss;
mod replay;
mod tables;

use std::{io, path::Path};

use super::{
    Marker,
    commits::{Commits, Found},
    journal::Journal,
};
use hyper_delay_store::{Space, StoreError};
pub(super) use loss::Loss;
use replay::Replay;
use tables::{Broken, Lost};

/// The contents of a store, and the damage to it.
#[derive(Debug)]
pub(super) struct Inspection {
    record: Found,
    /// `None` if no part of the store can be used.
    replay: Option<Replay>,
    broken: Vec<Broken>,
}

/// The steps to take before the store is opened.
#[derive(Debug, Default)]
pub(super) struct Cure<'a> {
    /// Whether to replace the store by a new one, because no part of it can be used.
    pub(super) replaces_store: bool,
    /// Folders to move away, which the library would delete.
    pub(super) folders: Vec<&'a Path>,
    /// Journals to copy, which the library would truncate.
    pub(super) cuts: Vec<Cut<'a>>,
}

/// A journal whose end cannot be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut<'a> {
    pub(super) journal: &'a Path,
    /// Number of readable bytes at the start.
    pub(super) kept: u64,
    /// Number of written bytes.
    pub(super) written: u64,
}

impl Inspection {
    /// Inspects the store in a folder.
    pub(super) fn of(store: &Path, record: Found) -> Result<Self, StoreError> {
        let (tables, broken) = tables::read(store)?;
        let replay = tables.map(|tables| Replay::over(tables, commits(&record)));
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
    pub(super) fn of_nothing(store: &Path, record: Found) -> Self {
        Self {
            record,
            replay: None,
            broken: vec![Broken::missing_store(store)],
        }
    }

    fn replay_journals(&mut self, store: &Path) -> io::Result<()> {
        if let Some(replay) = &mut self.replay {
            for path in Journal::list(store)? {
                replay.read(&Journal::read(&path)?);
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
        loss.gaps(&replay.gaps);
        match &self.record {
            Found::Read(record) => {
                for space in Space::ALL {
                    loss.compare(space, replay.last(space), record.space(space).last);
                }
                if !loss.is_empty() {
                    loss.totals(record, &replay.newest());
                }
            }
            // A store with markers had a record. A store of an older version has neither.
            Found::Missing if replay.newest().commit == 0 => {
                let is_torn_end = |stop: &replay::Stop| stop.batches == 0 && stop.is_searched;
                if !replay.stops.iter().all(is_torn_end) {
                    loss.stops(&replay.stops);
                }
            }
            Found::Missing => loss.record("is missing"),
            Found::Unreadable | Found::Newer(_) => loss.record("is damaged in both slots"),
        }
        if loss.is_empty() {
            return None;
        }
        loss.stops(&replay.stops);
        Some(loss)
    }

    /// Returns the steps to take before the store is opened.
    ///
    /// # Errors
    ///
    /// If a space cannot be opened. Only a repair helps then, even if a loss is accepted.
    pub(super) fn cure(&self) -> Result<Cure<'_>, StoreError> {
        let mut cure = Cure::default();
        for broken in &self.broken {
            match broken.lost {
                Lost::Store => cure.replaces_store = true,
                Lost::Folder => cure.folders.push(&broken.path),
                Lost::Space => {}
                Lost::Part => return Err(StoreError::damage("open", broken.to_string())),
            }
        }
        let stops = self.replay.iter().flat_map(|replay| &replay.stops);
        cure.cuts.extend(stops.map(|stop| Cut {
            journal: &stop.journal,
            kept: stop.range.start as u64,
            written: stop.range.end as u64,
        }));
        Ok(cure)
    }

    /// Returns the contents of the store once it is open. With `accepts_loss`, missing commits are
    /// no loss at the next start.
    pub(super) fn contents(&self, accepts_loss: bool) -> Commits {
        let mut contents = commits(&self.record).copied().unwrap_or_default();
        let newest = match &self.replay {
            Some(replay) => replay.newest(),
            None => Marker::default(),
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

const fn commits(record: &Found) -> Option<&Commits> {
    match record {
        Found::Read(commits) => Some(commits),
        Found::Missing | Found::Unreadable | Found::Newer(_) => None,
    }
}
