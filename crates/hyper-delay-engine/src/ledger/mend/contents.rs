use std::{iter, ops::ControlFlow};

use super::{Mending, mend_batch};
use crate::{
    ledger::{retain_lowest, scan::scan},
    sizes::Size,
};
use hyper_delay_store::{
    Durability, Space, Store, StoreError,
    record::{self, Name, key},
};

impl<S: Store> Mending<'_, S> {
    /// Removes every content that no name refers to. Returns the sequence numbers that several
    /// names refer to, in order.
    ///
    /// Contents are sorted by sequence number and names are not. To bound the memory, each pass
    /// over the names keeps the lowest numbers, and the next pass continues after them.
    pub(super) fn remove_orphaned_contents(&mut self) -> Result<Vec<u64>, StoreError> {
        let mut shared = Vec::new();
        let mut rest = Some(0);
        while let Some(from) = rest {
            let (numbers, end) = self.lowest_numbers(from)?;
            let pairs = iter::zip(&numbers, &numbers[1.min(numbers.len())..]);
            shared.extend(pairs.filter(|(one, next)| one == next).map(|(one, _)| *one));
            self.remove_nameless(from, end, &numbers)?;
            rest = end;
        }
        shared.dedup();
        Ok(shared)
    }

    /// Returns the lowest sequence numbers of the names from `from` on, sorted, and the first one
    /// that is left out. `None` if that are all.
    fn lowest_numbers(&self, from: u64) -> Result<(Vec<u64>, Option<u64>), StoreError> {
        let window = self.sizes.mend_numbers;
        let mut numbers: Vec<u64> = Vec::new();
        let mut end = None;
        scan(self.store, Space::Names, &[], |_, value| {
            let Name { seq, .. } = record::decode(value)?;
            if seq >= from && end.is_none_or(|end| seq < end) {
                numbers.push(seq);
            }
            if numbers.len() > window + window / 4 {
                (self.sizes.reached)(Size::MendNumbers);
                end = Some(retain_lowest(&mut numbers, window, |seq| *seq));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        numbers.sort_unstable();
        Ok((numbers, end))
    }

    /// Removes the contents from one number up to another that are not among the sorted `numbers`.
    /// Contents in damaged blocks stay: one that a name refers to becomes a dead letter later.
    fn remove_nameless(
        &mut self,
        from: u64,
        end: Option<u64>,
        numbers: &[u64],
    ) -> Result<(), StoreError> {
        let mut read_up_to = from;
        let mut from = key::task(from).to_vec();
        loop {
            let mut nameless = Vec::new();
            let read = self.batch.keys(Space::Tasks, &from, &mut nameless, |key| {
                let Ok(seq) = key.try_into().map(u64::from_be_bytes) else {
                    return ControlFlow::Continue(true);
                };
                if end.is_some_and(|end| seq >= end) {
                    return ControlFlow::Break(());
                }
                read_up_to = seq;
                ControlFlow::Continue(numbers.binary_search(&seq).is_err())
            });
            self.note_number(read_up_to);
            let last = nameless.last().map(|key| mend_batch::after(key));
            for key in nameless {
                self.report.contents += 1;
                self.batch.remove(Space::Tasks, key);
            }
            self.batch.commit(Durability::Written)?;
            from = match read {
                Err(error) if error.is_damage() => {
                    let behind = numbers.partition_point(|seq| *seq <= read_up_to);
                    let Some(seq) = numbers.get(behind) else {
                        return Ok(());
                    };
                    read_up_to = *seq;
                    key::task(*seq).to_vec()
                }
                Err(error) => return Err(error),
                Ok(()) => match last {
                    Some(next) => next,
                    None => return Ok(()),
                },
            };
        }
    }
}
