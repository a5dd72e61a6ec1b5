//! Compares the index of retrying tasks with the tasks.
//!
//! A server of version 0.3 can have left rows of tasks that are gone or do not retry any more. So the
//! index may have more rows than there are retrying tasks, but not fewer, and their number is stored.

use std::collections::BTreeMap;

use hyper_delay_store::{
    StoreError,
    record::{self, Name, RetryingEntry, key},
};

/// The retrying tasks by route, according to their names. The empty route has the sum.
#[derive(Debug, Default)]
pub(crate) struct RetryingTasks {
    counts: BTreeMap<Box<str>, u64>,
}

/// The index, by route.
#[derive(Debug, Default)]
pub(crate) struct RetryingIndex {
    rows: BTreeMap<Box<str>, u64>,
    /// The stored numbers.
    counts: BTreeMap<Box<str>, u64>,
}

impl RetryingTasks {
    /// Adds a task if it is retrying.
    pub(crate) fn add(&mut self, route: &str, name: &Name) {
        if name.is_retrying() {
            for route in [route, ""] {
                *self.counts.entry(route.into()).or_default() += 1;
            }
        }
    }

    /// Removes a task if it is retrying.
    pub(crate) fn remove(&mut self, route: &str, name: &Name) {
        if name.is_retrying() {
            for route in [route, ""] {
                if let Some(count) = self.counts.get_mut(route) {
                    *count -= 1;
                }
            }
        }
    }

    /// Returns the number of each route that has one.
    pub(crate) fn into_counts(self) -> impl Iterator<Item = (Box<str>, u64)> {
        self.counts.into_iter().filter(|(_, count)| *count > 0)
    }
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
            for route in [route, ""] {
                *self.rows.entry(route.into()).or_default() += 1;
            }
        } else if let Some(route) = key.strip_prefix(key::RETRYING_COUNTS) {
            let count = record::decode(value)?;
            self.counts.insert(key::text_of(route)?.into(), count);
        }
        Ok(())
    }

    /// Returns how the index differs from the tasks.
    pub(crate) fn check(&self, tasks: &RetryingTasks) -> Result<(), String> {
        if self.rows != self.counts {
            return Err("the numbers of retrying tasks are not those of their index".to_owned());
        }
        for (route, tasks) in &tasks.counts {
            let rows = self.rows.get(route).copied().unwrap_or_default();
            if *tasks > rows {
                return Err(format!(
                    "the index of retrying tasks has {rows} of route \"{route}\", and {tasks} retry"
                ));
            }
        }
        Ok(())
    }
}
