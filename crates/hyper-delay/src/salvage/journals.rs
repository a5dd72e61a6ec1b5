use std::{path::Path, rc::Rc};

use super::{
    SalvageError,
    faults::{Fault, Faults},
    row::Row,
    spaces::Spaces,
};
use crate::store::{
    Marker, Space,
    journal::{Journal, JournalBatch},
};

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
        faults: &mut Faults,
    ) -> Result<Self, SalvageError> {
        let mut collected = Collected::default();
        let files = Journal::list(store).map_err(SalvageError::at(store))?;
        if files.is_empty() {
            let what = "there is no journal: a store has at least one";
            faults.add(Fault::new(store, what));
        }
        let newest = files.last().cloned();
        for path in files {
            collected.is_newest = newest.as_ref() == Some(&path);
            match Journal::read(&path) {
                Ok(journal) => collected.journal(&journal, spaces, faults),
                Err(error) => faults.add(Fault::new(&path, error.to_string())),
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
    /// Whether the journal that is read is the last one.
    is_newest: bool,
    rows: [Vec<Row>; Space::ALL.len()],
    /// The last commit of each space.
    last: [u64; Space::ALL.len()],
    bases: [Vec<Base>; Space::ALL.len()],
}

impl Collected {
    fn journal(&mut self, journal: &Journal, spaces: &Spaces, faults: &mut Faults) {
        let path = journal.path();
        let mut batches = journal.batches().peekable();
        let mut is_sure = true;
        while let Some(batch) = batches.next() {
            let batch = match batch {
                Ok(batch) => batch,
                Err(damage) => {
                    let what = damage.to_string();
                    faults.add(if damage.is_tail && self.is_newest {
                        Fault::tail(path, what)
                    } else {
                        Fault::new(path, what)
                    });
                    is_sure = false;
                    continue;
                }
            };
            // A payload can contain bytes of a valid batch. So a batch after damage is accepted
            // only if it continues the commits of its spaces and no damage follows it.
            let is_followed = !matches!(batches.peek(), Some(Err(_)));
            is_sure = is_sure || is_followed && self.continues(&batch, spaces);
            if is_sure {
                self.add(&batch, spaces, path, faults);
            } else {
                let (start, end) = (batch.range.start, batch.range.end);
                let what = format!(
                    "bytes {start} to {end}: a batch after damage does not continue the commits \
                     before it and is left out"
                );
                faults.add(Fault::new(path, what));
            }
        }
    }

    fn continues(&self, batch: &JournalBatch<'_>, spaces: &Spaces) -> bool {
        let newest = self.last.iter().max().copied().unwrap_or_default();
        let mut commits = Vec::new();
        let mut changed = Vec::new();
        for item in &batch.items {
            let Some(space) = spaces.space(item.keyspace) else {
                return false;
            };
            changed.push(space);
            if let Some(marker) = marker(item.key, item.value) {
                let follows = marker.before >= self.last[space as usize];
                if !follows || marker.before >= marker.commit || marker.commit <= newest {
                    return false;
                }
                commits.push((space, marker.commit));
            }
        }
        let Some((_, commit)) = commits.first().copied() else {
            return false;
        };
        let is_marked = |space: &Space| commits.contains(&(*space, commit));
        changed.iter().all(is_marked)
    }

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
            if let Some(marker) = marker(item.key, item.value) {
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

fn marker(key: &[u8], value: Option<&[u8]>) -> Option<Marker> {
    let value = value.filter(|_| key == Marker::KEY)?;
    Marker::decode(value).ok()
}
