//! The index of retrying tasks: those that wait or are parked and have a last failure.
//!
//! A server of version 0.3 keeps neither the index nor the failures. If one changes a task, the name
//! loses the failure and the row of the index stays. [`Op::CheckRetrying`](super::Op) removes such
//! rows, page by page, after each start and take-over. The number of retrying tasks is that of the
//! rows, so the two never differ.

use std::{ops::ControlFlow, sync::Arc};

use super::{
    Ledger, LedgerView, ListingQuery, ListingRow, Outcome, Position,
    scan::{scan, scan_meta},
};
use crate::sizes::Size;
use hyper_delay_store::{
    Bytes, ReadStore, Space, Store, StoreError,
    record::{self, Name, RetryingEntry, key},
};

/// Whether a row is that of the task with this name.
fn is_of(name: &Name, row: &IndexRow) -> bool {
    let Position { at, seq } = row.position;
    name.is_retrying() && (name.place.at(), name.seq) == (at, seq)
}

fn listing_row(row: IndexRow, name: &Name) -> ListingRow {
    ListingRow {
        key: row.key,
        position: row.position,
        route: row.route,
        id: row.id,
        state: name.place.state(),
        attempt: name.attempt,
        has_failures: true,
        reason: None,
        terms: name.terms.clone(),
    }
}

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
        let row = IndexRow::read(key, value)?;
        let name = self.rows.name(&key::name(&row.route, &row.id))?;
        let is_own = name.is_some_and(|name| is_of(&name, &row));
        // A batch that the store does not have yet can have removed it.
        if !is_own && self.rows.writes.get(Space::Meta, key)?.is_some() {
            self.rows.writes.remove(Space::Meta, key.clone());
            self.rows.counts.remove_stale_retrying(&row.route);
        }
        Ok(())
    }
}

/// A row of the index.
struct IndexRow {
    key: Bytes,
    position: Position,
    route: Arc<str>,
    id: Arc<str>,
}

impl IndexRow {
    fn read(key: &[u8], value: &[u8]) -> Result<Self, StoreError> {
        let malformed = || StoreError::damage("read a key", "the key has no route");
        let rest = &key[key::RETRYING.len()..];
        let (route, _) = key::route_of(rest).ok_or_else(malformed)?;
        let (at, seq) = key::time_of(rest)?;
        let RetryingEntry { id } = record::decode(value)?;
        Ok(Self {
            key: rest.into(),
            position: Position { at, seq },
            route: route.into(),
            id: id.into(),
        })
    }
}

/// A part of the retrying tasks.
#[derive(Debug, Default)]
pub struct RetryingPage {
    /// The tasks that match, in the order of their keys, with their names.
    pub rows: Vec<(ListingRow, Name)>,
    /// Number of keys that were read.
    pub read: usize,
    /// The last key that was looked at, if there may be more after it.
    pub next: Option<Bytes>,
}

impl<S: ReadStore> LedgerView<S> {
    /// Lists retrying tasks, in the order of their routes and due times: at most `most`. Reads at most
    /// `keys` keys, of rows and of names, matching or not. `after` is a key without the prefix of the
    /// index. The space of the query does not matter.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn list_retrying(
        &self,
        listing: &ListingQuery<'_>,
        most: usize,
        keys: usize,
    ) -> Result<RetryingPage, StoreError> {
        let ListingQuery { route, filter, .. } = *listing;
        let mut page = RetryingPage::default();
        let (found, next) = self.index_rows(listing, keys / 2)?;
        page.read = found.len();
        page.next = next;
        let mut last = None;
        for row in found {
            if page.rows.len() == most {
                page.next = last;
                break;
            }
            last = Some(row.key.clone());
            if !filter.has_time(row.position.at) {
                continue;
            }
            debug_assert!(route.is_none_or(|route| *route == *row.route));
            page.read += 1;
            // A server of an older version can have left the row.
            let name = self.name(&row.route, &row.id)?;
            let Some(name) = name.filter(|name| is_of(name, &row)) else {
                continue;
            };
            let failure = name.failure.as_ref();
            if filter.has_reason(failure.and_then(|failure| failure.reason.as_deref())) {
                page.rows.push((listing_row(row, &name), name));
            }
        }
        Ok(page)
    }

    /// Returns the rows of the index after a key, at most `most`, and the last one if there may be
    /// more.
    fn index_rows(
        &self,
        listing: &ListingQuery<'_>,
        most: usize,
    ) -> Result<(Vec<IndexRow>, Option<Bytes>), StoreError> {
        let ListingQuery {
            route,
            filter,
            after,
            ..
        } = *listing;
        let prefix: Bytes = match route {
            Some(route) => key::retrying_route(route),
            None => key::RETRYING.into(),
        };
        let from = match (after, route) {
            (Some(after), _) => [key::RETRYING, after].concat().into(),
            (None, Some(route)) => key::retrying(route, filter.from.unwrap_or_default(), 0),
            (None, None) => prefix.clone(),
        };
        let mut rows: Vec<IndexRow> = Vec::new();
        let mut next = None;
        scan(&*self.store, Space::Meta, &from, |key, value| {
            if after.is_some() && *key == *from {
                return Ok(ControlFlow::Continue(()));
            }
            if !key.starts_with(&prefix) {
                return Ok(ControlFlow::Break(()));
            }
            if rows.len() == most {
                next = rows.last().map(|row| row.key.clone());
                return Ok(ControlFlow::Break(()));
            }
            let row = IndexRow::read(key, value)?;
            // Within a route, keys are in the order of time.
            let is_over = |until| row.position.at >= until;
            if route.is_some() && filter.until.is_some_and(is_over) {
                return Ok(ControlFlow::Break(()));
            }
            rows.push(row);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok((rows, next))
    }

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

    /// Visits the numbers of retrying tasks of the routes that have any, in order of name.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn retrying_counts(&self, mut visit: impl FnMut(&str, u64)) -> Result<(), StoreError> {
        scan_meta(&*self.store, key::RETRYING_COUNTS, |route, value| {
            let count = record::decode(value)?;
            // The empty route has the sum.
            if !route.is_empty() {
                visit(key::text_of(route)?, count);
            }
            Ok(())
        })
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
