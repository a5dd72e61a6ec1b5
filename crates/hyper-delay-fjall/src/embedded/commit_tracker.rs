use std::{io, path::Path};

use crate::{
    CommitMarker,
    commit_record::{CommitFile, CommitRecord},
};
use hyper_delay_store::{Batch, Bytes, Durability, Space, StoreError};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::store::embedded::progress";

/// Numbers the commits, and keeps the commit record.
#[derive(Debug)]
pub(crate) struct CommitTracker {
    /// Up to the last commit.
    written: CommitRecord,
    /// Up to the last commit that is on the disk. The record has these totals.
    synced: CommitRecord,
    file: CommitFile,
    /// Whether the last write of the record failed because the disk is full. The record is behind
    /// then.
    is_disk_full: bool,
}

impl CommitTracker {
    /// Begins a record with what a store contains.
    pub(super) fn create(directory: &Path, contents: CommitRecord) -> io::Result<Self> {
        Ok(Self {
            written: contents,
            synced: contents,
            file: CommitFile::create(directory, &contents)?,
            is_disk_full: false,
        })
    }

    /// Returns the totals after a batch, and the markers to write with it.
    pub(super) fn next_commit(&self, batch: &Batch) -> (CommitRecord, Vec<(Space, Bytes)>) {
        number_commit(&self.written, batch)
    }

    /// Returns the number of the last commit.
    pub(super) const fn commit(&self) -> u64 {
        self.written.commit
    }

    /// Records a commit.
    pub(super) fn record_commit(
        &mut self,
        totals: CommitRecord,
        durability: Durability,
    ) -> Result<(), StoreError> {
        self.written = totals;
        match durability {
            Durability::Written => Ok(()),
            Durability::Synced => self.write_record(),
        }
    }

    /// Records that all commits are synced. If they were before, syncs the record, too: the
    /// committer does this at its end.
    pub(super) fn record_sync(&mut self) -> Result<(), StoreError> {
        if self.synced == self.written {
            return self.file.sync().map_err(failed);
        }
        self.write_record()
    }

    /// Records on disk that a space is cleared, and then clears it with `clear`.
    ///
    /// The record is written first: after a crash in between, the empty space is no loss. No commit
    /// may come in between: its marker would be cleared, and the record would miss it.
    pub(super) fn record_clear(
        &mut self,
        space: Space,
        clear: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let floor = self.written.commit;
        for totals in [&mut self.written, &mut self.synced] {
            let commits = totals.space_mut(space);
            commits.last = 0;
            commits.floor = floor;
        }
        self.file.write_through(&self.synced).map_err(failed)?;
        clear()
    }

    fn write_record(&mut self) -> Result<(), StoreError> {
        self.synced = self.written;
        match self.file.write(&self.synced) {
            Ok(()) => self.is_disk_full = false,
            // The commit itself is on the disk, and a record that is behind refuses no store.
            Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                if !std::mem::replace(&mut self.is_disk_full, true) {
                    tracing::warn!(
                        target: TARGET,
                        %error,
                        "the commit record cannot be written; it is behind",
                    );
                }
            }
            Err(error) => return Err(failed(error)),
        }
        Ok(())
    }
}

fn failed(error: io::Error) -> StoreError {
    StoreError::new("write the commit record", error)
}

/// Returns the totals after a batch that follows the totals `written`, and the markers to write with
/// it.
pub(super) fn number_commit(
    written: &CommitRecord,
    batch: &Batch,
) -> (CommitRecord, Vec<(Space, Bytes)>) {
    let (schedules, removals) = batch.counted();
    let mut next = *written;
    next.commit += 1;
    next.schedules += schedules;
    next.removals += removals;
    let (commit, schedules, removals) = (next.commit, next.schedules, next.removals);
    let touched = Space::ALL.into_iter().filter(|space| batch.touches(*space));
    let markers = touched.map(|space| {
        let commits = next.space_mut(space);
        let before = std::mem::replace(&mut commits.last, commit);
        let marker = CommitMarker {
            commit,
            before,
            schedules,
            removals,
        };
        (space, marker.encode())
    });
    let markers = markers.collect();
    (next, markers)
}
