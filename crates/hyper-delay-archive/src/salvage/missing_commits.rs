use std::path::Path;

use super::{SalvageError, faults::FileFaults, stopped_store::StoppedStore};
use hyper_delay_fjall::{
    CommitMarker,
    commit_record::{self, CommitFile, CommitFileState, CommitRecord, SpaceCommits},
};
use hyper_delay_store::Space;

/// The commits that the commit record has and the store lacks.
///
/// Their tasks cannot be read any more, so only their number is known.
#[derive(Debug, Default)]
pub(super) struct MissingCommits {
    /// One line for each space that lacks commits, for their sum, and for the record itself.
    pub(super) findings: Vec<String>,
    /// The schedules in those commits: the most tasks that they can have had.
    pub(super) schedules: u64,
    /// A harmless finding: one slot of the record is damaged, as a crash can leave it.
    pub(super) note: Option<String>,
}

impl MissingCommits {
    /// Compares the last commit of each space with the commit record.
    pub(super) fn read(
        directory: &Path,
        store: &StoppedStore,
        faults: &mut FileFaults,
    ) -> Result<Self, SalvageError> {
        let path = CommitFile::path(directory);
        let (found, damaged_slot) =
            CommitFile::read_slots(directory).map_err(SalvageError::at(&path))?;
        let mut missing = Self::default();
        let mut newest = CommitMarker::default();
        for space in Space::ALL {
            let mut rows = store.scan(space, faults);
            while rows.next(faults).is_some() {}
            let (last, mut before) = rows.last_commit();
            if last.commit > newest.commit {
                newest = last;
            }
            let recorded = match &found {
                CommitFileState::Read(record) => record.space(space),
                _ => SpaceCommits::default(),
            };
            missing.findings.extend(commit_record::describe_behind(
                space,
                last.commit,
                recorded.last,
            ));
            for start in store.chain_starts(space) {
                if start.before > before && start.commit > recorded.floor {
                    missing
                        .findings
                        .push(commit_record::describe_gap(space, before, start.before));
                }
                before = before.max(start.commit);
            }
        }
        match found {
            CommitFileState::Read(record) => missing.add(&record, &newest),
            CommitFileState::Unreadable | CommitFileState::Newer(_) => {
                missing.findings.push(format!(
                    "{}: both slots of the commit record are damaged",
                    path.display()
                ));
            }
            // A store without commit numbers was written by an older version, which has no record.
            CommitFileState::Missing if newest.commit > 0 => missing
                .findings
                .push(format!("{}: the commit record is missing", path.display())),
            CommitFileState::Missing => {}
        }
        if damaged_slot {
            missing.note = Some(format!(
                "{}: one of the two slots of the commit record is damaged",
                path.display()
            ));
        }
        Ok(missing)
    }

    /// Adds the schedules and removals of the recorded commits after the newest one of the store.
    fn add(&mut self, record: &CommitRecord, newest: &CommitMarker) {
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
