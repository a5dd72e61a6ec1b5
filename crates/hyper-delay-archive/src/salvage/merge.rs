use std::{cmp::Ordering, collections::BinaryHeap, rc::Rc};

use super::{
    faults::{Fault, Faults},
    row::{Live, Row},
    table::Table,
};
use hyper_delay_fjall::{Marker, files::version::TableFile};
use hyper_delay_store::Space;

/// Merges the tables and the journals of a space into the newest row of each key, ordered by key.
#[derive(Debug)]
pub(super) struct Merge {
    space: Space,
    sources: Vec<Source>,
    heads: BinaryHeap<Head>,
    /// The marker of the last commit that was read.
    last: Marker,
    /// The last commit that was read from a table.
    last_in_tables: u64,
}

#[derive(Debug)]
enum Source {
    Table(Box<Table>),
    Journal(Rc<Vec<Row>>, usize),
}

/// The next row of a source. The greatest head has the lowest key, and the newest row of that key.
#[derive(Debug)]
struct Head {
    row: Row,
    source: usize,
}

impl Merge {
    pub(super) fn new(
        space: Space,
        tables: &[TableFile],
        journal: Rc<Vec<Row>>,
        faults: &mut Faults,
    ) -> Self {
        let mut sources = vec![Source::Journal(journal, 0)];
        for file in tables {
            match Table::open(&file.path, file.shift) {
                Ok(table) => sources.push(Source::Table(Box::new(table))),
                Err(error) => faults.add(Fault::new(&file.path, error.to_string()).of(space)),
            }
        }
        let mut merge = Self {
            space,
            heads: BinaryHeap::with_capacity(sources.len()),
            sources,
            last: Marker::default(),
            last_in_tables: 0,
        };
        for source in 0..merge.sources.len() {
            merge.refill(source, faults);
        }
        merge
    }

    /// Returns the next key that is not removed, except for the marker of the space.
    pub(super) fn next(&mut self, faults: &mut Faults) -> Option<Live> {
        loop {
            let row = self.pop(faults)?;
            while let Some(head) = self.heads.peek()
                && head.row.key == row.key
            {
                self.pop(faults);
            }
            if row.key == Marker::KEY {
                continue;
            }
            if let Row {
                key,
                seqno,
                value: Some(value),
            } = row
            {
                return Some(Live { key, seqno, value });
            }
        }
    }

    /// Returns the marker of the last commit in the space, and the last commit in its tables. Valid
    /// only after `next` has returned `None`, because the marker has the last key.
    pub(super) const fn last(&self) -> (Marker, u64) {
        (self.last, self.last_in_tables)
    }

    fn pop(&mut self, faults: &mut Faults) -> Option<Row> {
        let Head { row, source } = self.heads.pop()?;
        if row.key == Marker::KEY
            && let Some(Ok(marker)) = row.value.as_deref().map(Marker::decode)
        {
            if marker.commit > self.last.commit {
                self.last = marker;
            }
            if matches!(self.sources[source], Source::Table(_)) {
                self.last_in_tables = self.last_in_tables.max(marker.commit);
            }
        }
        self.refill(source, faults);
        Some(row)
    }

    fn refill(&mut self, source: usize, faults: &mut Faults) {
        let row = match &mut self.sources[source] {
            Source::Journal(rows, next) => {
                let row = rows.get(*next).cloned();
                *next += 1;
                row
            }
            Source::Table(table) => loop {
                match table.next() {
                    None => break None,
                    Some(Ok(row)) => break Some(row),
                    Some(Err(fault)) => faults.add(fault.of(self.space)),
                }
            },
        };
        self.heads.extend(row.map(|row| Head { row, source }));
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_key = other.row.key.cmp(&self.row.key);
        by_key.then(self.row.seqno.cmp(&other.row.seqno))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}
