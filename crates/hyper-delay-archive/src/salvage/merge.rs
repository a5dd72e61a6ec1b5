use std::{cmp::Ordering, collections::BinaryHeap, rc::Rc};

use super::{
    faults::{FileFault, FileFaults},
    row::{LiveRow, RowVersion},
    table_reader::TableReader,
};
use hyper_delay_fjall::{CommitMarker, files::version::TableFile};
use hyper_delay_store::Space;

/// Merges the tables and the journals of a space into the newest row of each key, ordered by key.
#[derive(Debug)]
pub(super) struct RowMerge {
    space: Space,
    sources: Vec<RowSource>,
    heads: BinaryHeap<MergeHead>,
    /// The marker of the last commit that was read.
    last: CommitMarker,
    /// The last commit that was read from a table.
    last_in_tables: u64,
}

#[derive(Debug)]
enum RowSource {
    Table(Box<TableReader>),
    Journal(Rc<Vec<RowVersion>>, usize),
}

/// The next row of a source. The greatest head has the lowest key, and the newest row of that key.
#[derive(Debug)]
struct MergeHead {
    row: RowVersion,
    source: usize,
}

impl RowMerge {
    pub(super) fn new(
        space: Space,
        tables: &[TableFile],
        journal: Rc<Vec<RowVersion>>,
        faults: &mut FileFaults,
    ) -> Self {
        let mut sources = vec![RowSource::Journal(journal, 0)];
        for file in tables {
            match TableReader::open(&file.path, file.shift) {
                Ok(table) => sources.push(RowSource::Table(Box::new(table))),
                Err(error) => {
                    faults.add(FileFault::new(&file.path, error.to_string()).in_space(space));
                }
            }
        }
        let mut merge = Self {
            space,
            heads: BinaryHeap::with_capacity(sources.len()),
            sources,
            last: CommitMarker::default(),
            last_in_tables: 0,
        };
        for source in 0..merge.sources.len() {
            merge.refill(source, faults);
        }
        merge
    }

    /// Returns the next key that is not removed, except for the marker of the space.
    pub(super) fn next(&mut self, faults: &mut FileFaults) -> Option<LiveRow> {
        loop {
            let row = self.pop(faults)?;
            while let Some(head) = self.heads.peek()
                && head.row.key == row.key
            {
                self.pop(faults);
            }
            if row.key == CommitMarker::KEY {
                continue;
            }
            if let RowVersion {
                key,
                seqno,
                value: Some(value),
            } = row
            {
                return Some(LiveRow { key, seqno, value });
            }
        }
    }

    /// Returns the marker of the last commit in the space, and the last commit in its tables. Valid
    /// only after `next` has returned `None`, because the marker has the last key.
    pub(super) const fn last_commit(&self) -> (CommitMarker, u64) {
        (self.last, self.last_in_tables)
    }

    fn pop(&mut self, faults: &mut FileFaults) -> Option<RowVersion> {
        let MergeHead { row, source } = self.heads.pop()?;
        if row.key == CommitMarker::KEY
            && let Some(Ok(marker)) = row.value.as_deref().map(CommitMarker::decode)
        {
            if marker.commit > self.last.commit {
                self.last = marker;
            }
            if matches!(self.sources[source], RowSource::Table(_)) {
                self.last_in_tables = self.last_in_tables.max(marker.commit);
            }
        }
        self.refill(source, faults);
        Some(row)
    }

    fn refill(&mut self, source: usize, faults: &mut FileFaults) {
        let row = match &mut self.sources[source] {
            RowSource::Journal(rows, next) => {
                let row = rows.get(*next).cloned();
                *next += 1;
                row
            }
            RowSource::Table(table) => loop {
                match table.next() {
                    None => break None,
                    Some(Ok(row)) => break Some(row),
                    Some(Err(fault)) => faults.add(fault.in_space(self.space)),
                }
            },
        };
        self.heads.extend(row.map(|row| MergeHead { row, source }));
    }
}

impl Ord for MergeHead {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_key = other.row.key.cmp(&self.row.key);
        by_key.then(self.row.seqno.cmp(&other.row.seqno))
    }
}

impl PartialOrd for MergeHead {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for MergeHead {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for MergeHead {}
