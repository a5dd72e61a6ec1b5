use std::path::Path;

use super::{SalvageError, faults::Faults, stopped::Stopped};
use hyper_delay_fjall::{
    Marker,
    commits::{self, CommitFile, Commits, Extent, Found},
};
use hyper_delay_store::Space;

/// The commits that the commit record has and the store lacks.
///
/// Their tasks cannot be read any more, so only their number is known.
#[derive(Debug, Default)]
pub(super) struct Missing {
    /// One line for each space that lacks commits, for their sum, and for the record itself.
    pub(super) findings: Vec<String>,
    /// The schedules in those commits: the most tasks that they can have had.
    pub(super) schedules: u64,
    /// Harmless: one slot of the record is damaged, as a crash can leave it.
    pub(super) note: Option<String>,
}

impl Missing {
    /// Compares the last commit of each space with the commit record.
    pub(super) fn read(
        directory: &Path,
        store: &Stopped,
        faults: &mut Faults,
    ) -> Result<Self, SalvageError> {
        let path = CommitFile::path(directory);
        let (found, damaged_slot) =
            CommitFile::read_slots(directory).map_err(SalvageError::at(&path))?;
        let mut missing = Self::default();
        let mut newest = Marker::default();
        for space in Space::ALL {
            let mut rows = store.scan(space, faults);
            while rows.next(faults).is_some() {}
            let (last, mut before) = rows.last();
            if last.commit > newest.commit {
                newest = last;
            }
            let extent = match &found {
                Found::Read(record) => record.space(space),
                _ => Extent::default(),
            };
            missing
                .findings
                .extend(commits::behind(space, last.commit, extent.last));
            for base in store.bases(space) {
                if base.before > before && base.commit > extent.floor {
                    missing
                        .findings
                        .push(commits::gap(space, before, base.before));
                }
                before = before.max(base.commit);
            }
        }
        match found {
            Found::Read(record) => missing.add(&record, &newest),
            Found::Unreadable | Found::Newer(_) => missing.findings.push(format!(
                "{}: both slots of the commit record are damaged",
                path.display()
            )),
            // A store without commit numbers was written by an older version, which has no record.
            Found::Missing if newest.commit > 0 => missing
                .findings
                .push(format!("{}: the commit record is missing", path.display())),
            Found::Missing => {}
        }
        if damaged_slot {
            missing.note = Some(format!(
                "{}: one of the two slots of the commit record is damaged",
                path.display()
            ));
        }
        Ok(missing)
    }

    /// Adds what was done in the commits after the newest one.
    fn add(&mut self, record: &Commits, newest: &Marker) {
        let commits = record.commit.saturating_sub(newest.commit);
        if commits == 0 {
            return;
        }
        let schedules = record.schedules.saturating_sub(newest.schedules);
        let removals = record.removals.saturating_sub(newest.removals);
        self.schedules = schedules;
        self.findings.push(format!(
            "the last acknowledged commits cannot be read (commits: {commits}, schedules: \
             {schedules}, removals: {removals})"
        ));
    }
}
