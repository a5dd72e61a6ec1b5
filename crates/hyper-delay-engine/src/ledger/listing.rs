//! Reads parts of the spaces that are ordered by time, with a bounded number of keys.

use std::{ops::ControlFlow, sync::Arc};

use super::{LedgerView, Position, scan::scan};
use hyper_delay_protocol::{Filter, TaskState, Terms};
use hyper_delay_store::{
    Bytes, ReadStore, Space, StoreError,
    record::{self, EntryRow, key},
};

/// A query of the entries in `waiting`, `parked` or `dead`.
#[derive(Debug, Clone)]
pub struct ListingQuery<'a> {
    /// The space.
    pub space: Space,
    /// Only tasks of this route.
    pub route: Option<&'a str>,
    /// Only these.
    pub filter: &'a Filter,
    /// Only rows after this key.
    pub after: Option<&'a [u8]>,
}

/// An entry with its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListingRow {
    /// The key of the entry in its space.
    pub key: Bytes,
    /// The sequence number and the time: due time, or time of death.
    pub position: Position,
    /// The route of the task.
    pub route: Arc<str>,
    /// The id of the task.
    pub id: Arc<str>,
    /// The state of the task, if it is not in flight.
    pub state: TaskState,
    /// Number of rounds so far, over all revisions.
    pub attempt: u32,
    /// Whether the name of the task may have a last failure.
    pub has_failures: bool,
    /// The reason of the death of a dead letter, if it is stored.
    pub reason: Option<Arc<str>>,
    /// What applies to the task instead of the settings.
    pub terms: Option<Box<Terms>>,
}

/// The result of one read.
#[derive(Debug, Default)]
pub struct ListingPage {
    /// The entries that match, in the order of their keys.
    pub rows: Vec<ListingRow>,
    /// Number of keys that were read.
    pub read: usize,
    /// The last key that was read and its id, if there may be more after it.
    pub next: Option<(Bytes, Arc<str>)>,
}

impl<S: ReadStore> LedgerView<S> {
    /// Lists entries: at most `most`, and at most `keys` keys are read, matching or not.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn list(
        &self,
        listing: &ListingQuery<'_>,
        most: usize,
        keys: usize,
    ) -> Result<ListingPage, StoreError> {
        let ListingQuery {
            space,
            route,
            filter,
            after,
        } = *listing;
        let mut page = ListingPage::default();
        let from = self.start(listing, &mut page.read)?;
        let prefix = match (space, route) {
            (Space::Waiting, _) | (_, None) => Bytes::default(),
            (_, Some(route)) => key::route(route),
        };
        // Within the prefix, keys are in the order of time.
        let is_by_time = space == Space::Waiting || route.is_some();
        let mut last = None;
        scan(&*self.store, space, &from, |key, value| {
            if after == Some(key) {
                return Ok(ControlFlow::Continue(()));
            }
            if !key.starts_with(&prefix) {
                return Ok(ControlFlow::Break(()));
            }
            if page.rows.len() >= most || page.read >= keys {
                page.next = last.take();
                return Ok(ControlFlow::Break(()));
            }
            page.read += 1;
            let row = row(space, key, value)?;
            let at = row.position.at;
            if is_by_time && filter.until.is_some_and(|until| at >= until) {
                return Ok(ControlFlow::Break(()));
            }
            last = Some((row.key.clone(), row.id.clone()));
            let is_wanted = route.is_none_or(|route| *row.route == *route)
                && filter.has_time(at)
                && (space != Space::Dead || filter.has_reason(row.reason.as_deref()));
            if is_wanted {
                page.rows.push(row);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(page)
    }

    /// Returns the reason for the death of a dead letter, if one is stored. `None` if it is not
    /// dead any more.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn reason(&self, route: &str, died: Position) -> Result<Option<Arc<str>>, StoreError> {
        let key = key::route_time(route, died.at, died.seq);
        let Some(value) = self.store.get(Space::Dead, &key)? else {
            return Ok(None);
        };
        let (_, reason) = record::decode_dead(&value)?;
        Ok(reason.map(Arc::from))
    }

    /// Returns the key at which a read begins.
    fn start(&self, listing: &ListingQuery<'_>, read: &mut usize) -> Result<Bytes, StoreError> {
        if let Some(after) = listing.after {
            return Ok(after.into());
        }
        let from = listing.filter.from.unwrap_or_default();
        Ok(match (listing.space, listing.route) {
            (Space::Waiting, _) => {
                // Before this mark there are only the tombstones of removed tasks.
                *read += 1;
                let mark = self.store.get(Space::Meta, key::LOW_WATER)?;
                let mark = mark
                    .map(|value| record::decode::<u64>(&value))
                    .transpose()?;
                key::time(from.max(mark.unwrap_or_default()), 0).into()
            }
            (_, Some(route)) => key::route_time(route, from, 0),
            (_, None) => Bytes::default(),
        })
    }
}

fn row(space: Space, key: &[u8], value: &[u8]) -> Result<ListingRow, StoreError> {
    let EntryRow {
        seq,
        place,
        entry,
        reason,
    } = EntryRow::read(space, key, value)?;
    let (at, _) = key::time_of(key)?;
    Ok(ListingRow {
        key: key.into(),
        position: Position { at, seq },
        route: entry.route.into(),
        id: entry.id.into(),
        state: place.state(),
        attempt: entry.attempt,
        has_failures: entry.failures > 0 || space == Space::Dead,
        reason: reason.map(Arc::from),
        terms: entry.terms,
    })
}

#[cfg(test)]
mod tests;
