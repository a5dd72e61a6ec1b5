//! Compares the index of retrying tasks with the tasks.
//!
//! A server of version 0.3 can have left rows of tasks that are gone or do not retry any more. So the
//! index may have more rows than there are retrying tasks, but not fewer, and their number is stored.

use hyper_delay_store::{
    StoreError,
    record::{self, RetryingCounts, RetryingEntry, key},
};

/// The index, by route.
#[derive(Debug, Default)]
pub(crate) struct RetryingIndex {
    rows: RetryingCounts,
    /// The stored numbers.
    counts: RetryingCounts,
}

impl RetryingIndex {
    /// Adds a row of `meta` if it is one of the index.
    ///
    /// # Errors
    ///
    /// If it cannot be decoded.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        if let Some(rest) = key.strip_prefix(key::RETRYING) {
            let malformed = || StoreError::damage("read a key", "the key is malformed");
            let (route, position) = key::route_of(rest).ok_or_else(malformed)?;
            if position.len() != 16 {
                return Err(malformed());
            }
            record::decode::<RetryingEntry<'_>>(value)?;
            self.rows.add_row(route);
        } else if let Some(route) = key.strip_prefix(key::RETRYING_COUNTS) {
            self.counts
                .set(key::text_of(route)?, record::decode(value)?);
        }
        Ok(())
    }

    /// Returns how the index differs from the tasks, which are counted according to their names.
    pub(crate) fn check(&self, tasks: &RetryingCounts) -> Result<(), String> {
        if self.rows != self.counts {
            return Err("the numbers of retrying tasks are not those of their index".to_owned());
        }
        for (route, tasks) in tasks.iter() {
            let rows = self.rows.of(route);
            if tasks > rows {
                return Err(format!(
                    "the index of retrying tasks has {rows} of route \"{route}\", and {tasks} retry"
                ));
            }
        }
        Ok(())
    }
}
