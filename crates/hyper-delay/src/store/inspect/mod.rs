//! Inspects a store before it is opened, because opening it destroys evidence.
//!
//! The library truncates a journal where it stops reading, and deletes the folder of a space whose
//! `current` or name is missing. So this reads the tables and the journals first and compares what
//! the store will contain with the commit record. Each commit leaves a [`Marker`] in every space that
//! it touches, so only the last block of each space and the journals are read.

mod loss;
mod replay;
mod tables;

use std::{io, path::Path};

use super::{
    Marker, Space, StoreError,
    commits::{Commits, Found},
    journal::Journal,
};
pub(super) use loss::Loss;
use replay::Replay;
use tables::{Broken, Lost};

/// What a store contains and lacks.
#[derive(Debug)]
pub(super) struct Inspection {
    record: Found,
    /// Missing if nothing of the store can be used.
    replay: Option<Replay>,
    broken: Vec<Broken>,
}

/// What must be done before the store is opened.
#[derive(Debug, Default)]
pub(super) struct Cure<'a> {
    /// Nothing of the store can be used.
    pub(super) replaces_store: bool,
    /// Folders that the store would delete.
    pub(super) folders: Vec<&'a Path>,
    /// Journals that the store would cut.
    pub(super) cuts: Vec<Cut<'a>>,
}

/// The end of a journal that cannot be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut<'a> {
    pub(super) journal: &'a Path,
    /// The bytes that stay.
    pub(super) kept: u64,
    /// The bytes that were written.
    pub(super) written: u64,
}

impl Inspection {
    /// Reads what is in a store folder.
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

    /// A store that is not there at all.
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

    /// Returns which acknowledged commits are missing, if any are.
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
            // A store with markers had a record; a store of an older version has neither.
            Found::Missing if replay.newest().commit == 0 => {
                if replay.stops.iter().any(|stop| stop.batches > 0) {
                    loss.stops(&replay.stops);
                }
            }
            Found::Missing => loss.record("is missing"),
            Found::Unreadable => loss.record("is damaged in both slots"),
        }
        if loss.is_empty() {
            return None;
        }
        loss.stops(&replay.stops);
        Some(loss)
    }

    /// Returns what must be done before the store is opened.
    ///
    /// # Errors
    ///
    /// If a space cannot be opened: only a repair helps, whatever loss is accepted.
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

    /// Returns what the store will contain when it is open. `accepts_loss` excuses all that is
    /// missing.
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
        Found::Missing | Found::Unreadable => None,
    }
}
