use std::{path::Path, rc::Rc};

use super::{
    SalvageError,
    faults::{Fault, Faults},
    row::Row,
    runs::{self, Part},
    spaces::Spaces,
};
use hyper_delay_fjall::{
    Marker,
    commits::Commits,
    journal::{Journal, JournalBatch},
};
use hyper_delay_store::Space;

/// The rows of all journals by space. They fit in memory, because journals have a bounded size.
#[derive(Debug)]
pub(super) struct Journals {
    /// Sorted by key. Contains only the newest row of each key.
    rows: [Rc<Vec<Row>>; Space::ALL.len()],
    /// Commits whose predecessor is in no journal.
    bases: [Vec<Base>; Space::ALL.len()],
}

/// A commit whose predecessor is in no journal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Base {
    pub(super) before: u64,
    pub(super) commit: u64,
}

impl Journals {
    pub(super) fn read(
        store: &Path,
        spaces: &Spaces,
        record: Option<&Commits>,
        faults: &mut Faults,
    ) -> Result<Self, SalvageError> {
        let files = Journal::list(store).map_err(SalvageError::at(store))?;
        if files.is_empty() {
            let what = "there is no journal: a store has at least one";
            faults.add(Fault::new(store, what));
        }
        let mut journals = Vec::new();
        for path in &files {
            match Journal::read(path) {
                Ok(journal) => journals.push(journal),
                Err(error) => faults.add(Fault::new(path, error.to_string())),
            }
        }
        let mut collected = Collected::default();
        for (journal, parts) in journals.iter().zip(runs::parts(&journals, spaces, record)) {
            let path = journal.path();
            let is_newest = files.last().is_some_and(|newest| newest == path);
            for part in &parts {
                match part {
                    Part::Run(run) => match run.doubt() {
                        Some(doubt) => faults.add(Fault::new(path, doubt)),
                        None => {
                            for batch in &run.batches {
                                collected.add(batch, spaces, path, faults);
                            }
                        }
                    },
                    Part::Damage(damage) if damage.is_tail && is_newest => {
                        faults.add_tail(Fault::new(path, damage.to_string()));
                    }
                    Part::Damage(damage) => faults.add(Fault::new(path, damage.to_string())),
                }
            }
        }
        Ok(collected.sorted())
    }

    pub(super) fn rows(&self, space: Space) -> Rc<Vec<Row>> {
        self.rows[space as usize].clone()
    }

    pub(super) fn bases(&self, space: Space) -> &[Base] {
        &self.bases[space as usize]
    }
}

#[derive(Debug, Default)]
struct Collected {
    rows: [Vec<Row>; Space::ALL.len()],
    /// The last commit of each space.
    last: [u64; Space::ALL.len()],
    bases: [Vec<Base>; Space::ALL.len()],
}

impl Collected {
    fn add(&mut self, batch: &JournalBatch<'_>, spaces: &Spaces, path: &Path, faults: &mut Faults) {
        let mut find = |id| {
            let space = spaces.space(id);
            if space.is_none() {
                let what = format!("folder {id}, which it writes to, belongs to no space");
                faults.add(Fault::new(path, what));
            }
            space
        };
        for item in &batch.items {
            let Some(space) = find(item.keyspace) else {
                continue;
            };
            if let Some(marker) = runs::marker(item) {
                let Marker { before, commit, .. } = marker;
                let last = &mut self.last[space as usize];
                if before > *last {
                    self.bases[space as usize].push(Base { before, commit });
                }
                *last = commit;
            }
            self.rows[space as usize].push(Row {
                key: item.key.to_vec(),
                seqno: batch.seqno,
                value: item.value.map(<[u8]>::to_vec),
            });
        }
        for id in &batch.clears {
            if let Some(space) = find(*id) {
                self.rows[space as usize].clear();
                self.bases[space as usize].clear();
                self.last[space as usize] = 0;
            }
        }
    }

    fn sorted(self) -> Journals {
        Journals {
            rows: self.rows.map(|mut rows| {
                rows.sort_by(|one, other| (&one.key, other.seqno).cmp(&(&other.key, one.seqno)));
                // The first of equal keys is the newest.
                rows.dedup_by(|later, first| later.key == first.key);
                Rc::new(rows)
            }),
            bases: self.bases,
        }
    }
}
