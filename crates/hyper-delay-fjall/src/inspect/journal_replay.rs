//! Simulates the replay of the journals at the opening of the store.

use std::{ops::Range, path::PathBuf};

use super::space_tables::SpaceTables;
use crate::{
    CommitMarker,
    commit_record::CommitRecord,
    journal_file::{BatchDamage, JournalBatch, JournalDamage, JournalFile},
};
use hyper_delay_store::Space;

/// The last commit of each space after the replay, and the damage to the journals.
#[derive(Debug)]
pub(super) struct JournalReplay {
    tables: [SpaceTables; Space::ALL.len()],
    /// The last commit of each space.
    last: [u64; Space::ALL.len()],
    /// Whether a journal clears the space. Its tables are ignored from there on.
    is_cleared: [bool; Space::ALL.len()],
    /// Commits up to these may be missing.
    floor: [u64; Space::ALL.len()],
    /// The newest marker of all spaces.
    newest: CommitMarker,
    /// The first damage of each damaged journal.
    pub(super) stops: Vec<ReplayStop>,
    /// Missing commits before later ones.
    pub(super) gaps: Vec<CommitGap>,
}

/// The first damage of a journal. The library truncates the journal there.
#[derive(Debug)]
pub(super) struct ReplayStop {
    pub(super) journal: PathBuf,
    /// The bytes that are cut off.
    pub(super) range: Range<usize>,
    pub(super) reason: BatchDamage,
    /// Number of readable batches in the range.
    pub(super) batches: usize,
    /// Whether the whole range was searched for readable batches.
    pub(super) is_searched: bool,
}

/// Missing commits of a space.
#[derive(Debug)]
pub(super) struct CommitGap {
    pub(super) space: Space,
    /// The last commit before the missing ones.
    pub(super) from: u64,
    /// The last missing commit.
    pub(super) to: u64,
    /// The journal with the commit that follows the missing ones.
    pub(super) journal: PathBuf,
}

impl JournalReplay {
    /// Starts from the tables. The floors of `record` name commits that may be missing.
    pub(super) fn from_tables(
        tables: [SpaceTables; Space::ALL.len()],
        record: Option<&CommitRecord>,
    ) -> Self {
        let floor = Space::ALL.map(|space| record.map_or(0, |record| record.space(space).floor));
        let markers = Space::ALL.map(|space| tables[space as usize].marker.unwrap_or_default());
        Self {
            last: markers.map(|marker| marker.commit),
            is_cleared: [false; Space::ALL.len()],
            newest: markers
                .into_iter()
                .max_by_key(|marker| marker.commit)
                .unwrap_or_default(),
            floor,
            tables,
            stops: Vec::new(),
            gaps: Vec::new(),
        }
    }

    /// Returns the last commit of a space.
    pub(super) const fn last(&self, space: Space) -> u64 {
        self.last[space as usize]
    }

    /// Returns the newest marker of all spaces.
    pub(super) const fn newest(&self) -> CommitMarker {
        self.newest
    }

    /// Replays the next journal up to its first damage, as the library does.
    pub(super) fn replay(&mut self, journal: &JournalFile) {
        let mut batches = journal.batches();
        for piece in batches.by_ref() {
            match piece {
                Ok(batch) => self.apply(journal, &batch),
                Err(damage) => {
                    let JournalDamage { range, reason, .. } = damage;
                    let mut stop = ReplayStop {
                        journal: journal.path().to_owned(),
                        range: range.start..journal.written().len(),
                        reason,
                        batches: 0,
                        is_searched: damage.is_searched,
                    };
                    for piece in batches {
                        match piece {
                            Ok(_) => stop.batches += 1,
                            Err(damage) => stop.is_searched &= damage.is_searched,
                        }
                    }
                    self.stops.push(stop);
                    return;
                }
            }
        }
    }

    fn apply(&mut self, journal: &JournalFile, batch: &JournalBatch<'_>) {
        for item in &batch.items {
            if item.key != CommitMarker::KEY {
                continue;
            }
            let Some(space) = self.space(item.keyspace) else {
                continue;
            };
            let Some(Ok(marker)) = item.value.map(CommitMarker::decode) else {
                continue;
            };
            self.apply_marker(journal, batch.seqno, space, marker);
        }
        for keyspace in &batch.clears {
            if let Some(space) = self.space(*keyspace) {
                self.last[space as usize] = 0;
                self.is_cleared[space as usize] = true;
            }
        }
    }

    fn apply_marker(
        &mut self,
        journal: &JournalFile,
        seqno: u64,
        space: Space,
        marker: CommitMarker,
    ) {
        let index = space as usize;
        let last = self.last[index];
        if marker.commit > self.newest.commit {
            self.newest = marker;
        }
        if marker.commit <= last {
            return;
        }
        // The library skips batches whose sequence number is not newer than its tables.
        let in_tables = self.tables[index].seqno.filter(|_| !self.is_cleared[index]);
        let is_skipped = in_tables.is_some_and(|tables| seqno <= tables);
        let follows = marker.before <= last && !is_skipped;
        if !follows && marker.commit > self.floor[index] {
            self.gaps.push(CommitGap {
                space,
                from: last,
                to: if is_skipped {
                    marker.commit
                } else {
                    marker.before
                },
                journal: journal.path().to_owned(),
            });
        }
        self.last[index] = marker.commit;
    }

    fn space(&self, keyspace: u64) -> Option<Space> {
        Space::ALL
            .into_iter()
            .find(|space| self.tables[*space as usize].keyspace == keyspace)
    }
}
