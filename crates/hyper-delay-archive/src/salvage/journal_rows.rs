use std::{path::Path, rc::Rc};

use super::{
    SalvageError,
    faults::{FileFault, FileFaults},
    row::RowVersion,
    space_folders::SpaceFolders,
    trusted_batches::{self, JournalPart},
};
use hyper_delay_fjall::{
    CommitMarker,
    commit_record::CommitRecord,
    journal_file::{JournalBatch, JournalFile},
};
use hyper_delay_store::Space;

/// The rows of all journals by space. They fit in memory, because journals have a bounded size.
#[derive(Debug)]
pub(super) struct JournalRows {
    /// Sorted by key. Contains only the newest row of each key.
    rows: [Rc<Vec<RowVersion>>; Space::ALL.len()],
    /// Commits whose predecessor is in no journal.
    chain_starts: [Vec<ChainStart>; Space::ALL.len()],
}

/// A commit whose predecessor is in no journal.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChainStart {
    pub(super) before: u64,
    pub(super) commit: u64,
}

impl JournalRows {
    pub(super) fn read(
        store: &Path,
        folders: &SpaceFolders,
        record: Option<&CommitRecord>,
        faults: &mut FileFaults,
    ) -> Result<Self, SalvageError> {
        let files = JournalFile::list(store).map_err(SalvageError::at(store))?;
        if files.is_empty() {
            let what = "there is no journal: a store has at least one";
            faults.add(FileFault::new(store, what));
        }
        let mut journals = Vec::new();
        for path in &files {
            match JournalFile::read(path) {
                Ok(journal) => journals.push(journal),
                Err(error) => faults.add(FileFault::new(path, error.to_string())),
            }
        }
        let mut builder = JournalRowsBuilder::default();
        let classified = trusted_batches::classify(&journals, folders, record);
        for (journal, parts) in journals.iter().zip(classified) {
            let path = journal.path();
            let is_newest = files.last().is_some_and(|newest| newest == path);
            for part in &parts {
                match part {
                    JournalPart::Run(run) => match run.rejection() {
                        Some(rejection) => faults.add(FileFault::new(path, rejection)),
                        None => {
                            for batch in &run.batches {
                                builder.add(batch, folders, path, faults);
                            }
                        }
                    },
                    JournalPart::Damage(damage) if damage.is_tail && is_newest => {
                        faults.add_tail(FileFault::new(path, damage.to_string()));
                    }
                    JournalPart::Damage(damage) => {
                        faults.add(FileFault::new(path, damage.to_string()));
                    }
                }
            }
        }
        Ok(builder.build())
    }

    pub(super) fn rows(&self, space: Space) -> Rc<Vec<RowVersion>> {
        self.rows[space as usize].clone()
    }

    pub(super) fn chain_starts(&self, space: Space) -> &[ChainStart] {
        &self.chain_starts[space as usize]
    }
}

/// Collects the rows of batches in the order of the journals.
#[derive(Debug, Default)]
struct JournalRowsBuilder {
    rows: [Vec<RowVersion>; Space::ALL.len()],
    /// The last commit of each space.
    last: [u64; Space::ALL.len()],
    chain_starts: [Vec<ChainStart>; Space::ALL.len()],
}

impl JournalRowsBuilder {
    fn add(
        &mut self,
        batch: &JournalBatch<'_>,
        folders: &SpaceFolders,
        path: &Path,
        faults: &mut FileFaults,
    ) {
        let mut find = |id| {
            let space = folders.space(id);
            if space.is_none() {
                let what = format!("folder {id}, which it writes to, belongs to no space");
                faults.add(FileFault::new(path, what));
            }
            space
        };
        for item in &batch.items {
            let Some(space) = find(item.keyspace) else {
                continue;
            };
            if let Some(marker) = trusted_batches::marker(item) {
                let CommitMarker { before, commit, .. } = marker;
                let last = &mut self.last[space as usize];
                if before > *last {
                    self.chain_starts[space as usize].push(ChainStart { before, commit });
                }
                *last = commit;
            }
            self.rows[space as usize].push(RowVersion {
                key: item.key.to_vec(),
                seqno: batch.seqno,
                value: item.value.map(<[u8]>::to_vec),
            });
        }
        for id in &batch.clears {
            if let Some(space) = find(*id) {
                self.rows[space as usize].clear();
                self.chain_starts[space as usize].clear();
                self.last[space as usize] = 0;
            }
        }
    }

    fn build(self) -> JournalRows {
        JournalRows {
            rows: self.rows.map(|mut rows| {
                rows.sort_by(|one, other| (&one.key, other.seqno).cmp(&(&other.key, one.seqno)));
                // The first of equal keys is the newest.
                rows.dedup_by(|later, first| later.key == first.key);
                Rc::new(rows)
            }),
            chain_starts: self.chain_starts,
        }
    }
}
