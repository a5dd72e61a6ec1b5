//! The index of retrying tasks: those that wait or are parked and have a last failure.
//!
//! A server of version 0.3 keeps neither the index nor the failures. If one changes a task, the name
//! loses the failure and the row of the index stays. [`Op::CheckRetrying`](super::Op) removes such
//! rows, page by page, after each start and take-over. The number of retrying tasks is that of the
//! rows, so the two never differ.

use std::ops::ControlFlow;

use super::{Ledger, LedgerView, Outcome};
use crate::sizes::Size;
use hyper_delay_store::{
    Bytes, ReadStore, Space, Store, StoreError,
    record::{self, RetryingEntry, key},
};

impl<S: Store> Ledger<S> {
    /// Compares a page of the index with the names of the tasks.
    pub(super) fn check_retrying(&mut self, after: &[u8]) -> Result<Outcome, StoreError> {
        let sizes = self.sizes();
        let from = match after {
            [] => key::RETRYING,
            after => after,
        };
        let mut page: Vec<(Bytes, Bytes)> = Vec::new();
        let mut has_more = false;
        self.rows
            .writes
            .stored_rows(Space::Meta, from, |key, value| {
                if key == after {
                    return ControlFlow::Continue(());
                }
                if !key.starts_with(key::RETRYING) {
                    return ControlFlow::Break(());
                }
                if page.len() == sizes.retrying_rows {
                    (sizes.reached)(Size::RetryingRows);
                    has_more = true;
                    return ControlFlow::Break(());
                }
                page.push((key.into(), value.into()));
                ControlFlow::Continue(())
            })?;
        for (key, value) in &page {
            self.check_retrying_row(key, value)?;
        }
        let last = page.last().filter(|_| has_more);
        Ok(Outcome::RetryingChecked(
            last.map(|(key, _)| (**key).into()),
        ))
    }

    /// Removes a row if it is not that of a retrying task.
    fn check_retrying_row(&mut self, key: &Bytes, value: &[u8]) -> Result<(), StoreError> {
        let malformed = || StoreError::damage("read a key", "the key has no route");
        let (route, _) = key::route_of(&key[key::RETRYING.len()..]).ok_or_else(malformed)?;
        let RetryingEntry { id } = record::decode(value)?;
        let name = self.rows.name(&key::name(route, id))?;
        let is_own = name.is_some_and(|name| name.retrying_key(route).as_ref() == Some(key));
        // A batch that the store does not have yet can have removed it.
        if !is_own && self.rows.writes.get(Space::Meta, key)?.is_some() {
            self.rows.writes.remove(Space::Meta, key.clone());
            self.rows.counts.remove_stale_retrying(route);
        }
        Ok(())
    }
}

impl<S: ReadStore> LedgerView<S> {
    /// Returns whether the index of retrying tasks has a row.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(crate) fn has_retrying(&self) -> Result<bool, StoreError> {
        let mut has_row = false;
        self.store.scan(Space::Meta, key::RETRYING, &mut |key, _| {
            has_row = key.starts_with(key::RETRYING);
            ControlFlow::Break(())
        })?;
        Ok(has_row)
    }

    /// Returns the number of retrying tasks of a route; of the empty route, that of all.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn retrying(&self, route: &str) -> Result<u64, StoreError> {
        let value = self.store.get(Space::Meta, &key::retrying_count(route))?;
        let count = value.map(|value| record::decode(&value)).transpose()?;
        Ok(count.unwrap_or_default())
    }
}
