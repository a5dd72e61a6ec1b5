use std::{io, path::Path};

use crate::{
    Marker,
    commits::{CommitFile, Commits},
};
use hyper_delay_store::{Batch, Bytes, Durability, Space, StoreError};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::store::embedded::progress";

/// Numbers the commits, and keeps the commit record.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Up to the last commit.
    written: Commits,
    /// Up to the last commit that is on the disk: what the record says.
    synced: Commits,
    file: CommitFile,
    /// Whether the last write of the record found no room; the record is behind then.
    lacks_room: bool,
}

impl Progress {
    /// Begins a record with what a store contains.
    pub(super) fn begin(directory: &Path, contents: Commits) -> io::Result<Self> {
        Ok(Self {
            written: contents,
            synced: contents,
            file: CommitFile::make(directory, &contents)?,
            lacks_room: false,
        })
    }

    /// Returns what the totals will be after a batch, and the markers that go with it.
    pub(super) fn number(&self, batch: &Batch) -> (Commits, Vec<(Space, Bytes)>) {
        number(&self.written, batch)
    }

    /// Returns the number of the last commit.
    pub(super) const fn commit(&self) -> u64 {
        self.written.commit
    }

    /// Records a commit.
    pub(super) fn committed(
        &mut self,
        commits: Commits,
        durability: Durability,
    ) -> Result<(), StoreError> {
        self.written = commits;
        match durability {
            Durability::Written => Ok(()),
            Durability::Synced => self.record(),
        }
    }

    /// Records that all commits are synced. If they were before, syncs the record, too: that is how
    /// the committer ends.
    pub(super) fn synced(&mut self) -> Result<(), StoreError> {
        if self.synced == self.written {
            return self.file.sync().map_err(failed);
        }
        self.record()
    }

    /// Records on disk that a space is cleared, and then clears it with `clear`.
    ///
    /// The record goes first: after a crash in between the space is not missed. No commit may come
    /// in between: its marker would be cleared, and the record would miss it.
    pub(super) fn clearing(
        &mut self,
        space: Space,
        clear: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let floor = self.written.commit;
        for commits in [&mut self.written, &mut self.synced] {
            let extent = commits.space_mut(space);
            extent.last = 0;
            extent.floor = floor;
        }
        self.file.write_through(&self.synced).map_err(failed)?;
        clear()
    }

    fn record(&mut self) -> Result<(), StoreError> {
        self.synced = self.written;
        match self.file.write(&self.synced) {
            Ok(()) => self.lacks_room = false,
            // The commit itself is on the disk, and a record that is behind refuses no store.
            Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                if !std::mem::replace(&mut self.lacks_room, true) {
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

/// Returns what the totals `written` become with a batch, and the markers that go with it.
pub(super) fn number(written: &Commits, batch: &Batch) -> (Commits, Vec<(Space, Bytes)>) {
    let (schedules, removals) = batch.counted();
    let mut next = *written;
    next.commit += 1;
    next.schedules += schedules;
    next.removals += removals;
    let (commit, schedules, removals) = (next.commit, next.schedules, next.removals);
    let touched = Space::ALL.into_iter().filter(|space| batch.touches(*space));
    let markers = touched.map(|space| {
        let extent = next.space_mut(space);
        let before = std::mem::replace(&mut extent.last, commit);
        let marker = Marker {
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
