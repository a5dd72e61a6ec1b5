use std::iter::Peekable;

use super::join::join;
use hyper_delay_store::{Bytes, Space, SpaceRow, StoreError};

/// Merges the rows of shards, each of which are in the order of spaces and keys. Reads one row
/// ahead of each shard, joins rows with the same key, and ends after an error.
#[derive(Debug)]
pub(super) struct MergedRows<I: Iterator<Item = Result<SpaceRow, StoreError>>> {
    shards: Vec<Peekable<I>>,
}

impl<I: Iterator<Item = Result<SpaceRow, StoreError>>> MergedRows<I> {
    pub(super) fn new(shards: impl IntoIterator<Item = I>) -> Self {
        let shards = shards.into_iter().map(Iterator::peekable);
        Self {
            shards: shards.collect(),
        }
    }

    /// Returns the first key that is left.
    fn first(&mut self) -> Result<Option<(Space, Bytes)>, StoreError> {
        let mut first: Option<(Space, &Bytes)> = None;
        for shard in &mut self.shards {
            // An error is taken at once; a row stays until its turn comes.
            if let Some(Err(error)) = shard.next_if(Result::is_err) {
                return Err(error);
            }
            let Some(Ok((space, key, _))) = shard.peek() else {
                continue;
            };
            if first.is_none_or(|first| (*space as usize, key) < (first.0 as usize, first.1)) {
                first = Some((*space, key));
            }
        }
        Ok(first.map(|(space, key)| (space, key.clone())))
    }

    fn read(&mut self) -> Result<Option<SpaceRow>, StoreError> {
        while let Some((space, key)) = self.first()? {
            let is_same = |row: &Result<SpaceRow, StoreError>| {
                row.as_ref()
                    .is_ok_and(|(of, at, _)| (*of, at) == (space, &key))
            };
            let shards = self.shards.iter_mut();
            let rows = shards.filter_map(|shard| shard.next_if(is_same));
            let values = rows.map(|row| row.map(|(_, _, value)| value));
            let values = values.collect::<Result<Vec<_>, _>>()?;
            if let Some(value) = join(space, &key, values, self.shards.len())? {
                return Ok(Some((space, key, value)));
            }
        }
        Ok(None)
    }
}

impl<I: Iterator<Item = Result<SpaceRow, StoreError>>> Iterator for MergedRows<I> {
    type Item = Result<SpaceRow, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read();
        if read.is_err() {
            self.shards.clear();
        }
        read.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(space: Space, key: u8) -> Result<SpaceRow, StoreError> {
        Ok((space, Bytes::from([key]), Bytes::from([key, key])))
    }

    fn tasks(keys: &[u8]) -> impl Iterator<Item = Result<SpaceRow, StoreError>> + use<'_> {
        keys.iter().map(|key| row(Space::Tasks, *key))
    }

    #[test]
    fn rows_are_in_the_order_of_their_keys() {
        let merged = MergedRows::new([tasks(&[2, 5, 9]), tasks(&[]), tasks(&[1, 3, 4, 7])]);
        let keys: Vec<u8> = merged.map(|row| row.unwrap().1[0]).collect();
        assert_eq!(keys, [1, 2, 3, 4, 5, 7, 9]);
    }

    #[test]
    fn spaces_are_in_their_order() {
        let first = [row(Space::Tasks, 9), row(Space::Dead, 1)];
        let second = [row(Space::Names, 5), row(Space::Dead, 0)];
        let merged = MergedRows::new([first.into_iter(), second.into_iter()]);
        let rows: Vec<_> = merged.map(|row| row.unwrap()).collect();
        let rows: Vec<_> = rows.iter().map(|row| (row.0, row.1[0])).collect();
        let expected = [
            (Space::Tasks, 9),
            (Space::Names, 5),
            (Space::Dead, 0),
            (Space::Dead, 1),
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn an_error_ends_the_rows() {
        let broken = || Err(StoreError::damage("read", "a block"));
        let first = vec![row(Space::Tasks, 1), broken(), row(Space::Tasks, 3)];
        let second = vec![row(Space::Tasks, 2), row(Space::Tasks, 4)];
        let mut merged = MergedRows::new([first.into_iter(), second.into_iter()]);
        assert_eq!(merged.next().unwrap().unwrap().1[0], 1);
        merged.next().unwrap().unwrap_err();
        assert!(merged.next().is_none());
    }

    #[test]
    fn one_row_of_each_shard_is_read_ahead() {
        let read = std::cell::Cell::new(0);
        let counted = |first: u8| {
            let read = &read;
            let keys = (first..200).step_by(2);
            keys.map(move |key| {
                read.set(read.get() + 1);
                row(Space::Tasks, key)
            })
        };
        let mut merged = MergedRows::new([counted(0), counted(1)]);
        for rows in 1..=10 {
            merged.next().unwrap().unwrap();
            assert!(read.get() <= rows + 1, "{} for {rows}", read.get());
        }
    }
}
