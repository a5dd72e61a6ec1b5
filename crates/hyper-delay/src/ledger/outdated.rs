//! Dead letters in the order in which their retention ends.

use std::ops::ControlFlow;

use super::{Position, Timed, View, scan::scan};
use crate::{
    record::{Entry, Placed, key},
    store::{Bytes, Space, Store, StoreError},
};

/// A part of the dead letters of all routes.
#[derive(Debug, Default)]
pub(crate) struct OutdatedPage {
    /// Those that died before the time that was asked for, with the times of their deaths.
    pub found: Vec<Timed>,
    /// When the first of the others died, in Unix milliseconds.
    pub oldest_left: Option<u64>,
    /// Where the next part begins. `None` if this is the last one.
    pub next: Option<Bytes>,
}

impl<S: Store> View<S> {
    /// Returns the dead letters that died before a time in Unix milliseconds. Starts at a key of an
    /// earlier page, or at the first route, and reads at most `keys` keys: of each route those that
    /// died before, and the first one that did not.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(crate) fn outdated(
        &self,
        from: &[u8],
        before: u64,
        keys: usize,
    ) -> Result<OutdatedPage, StoreError> {
        let mut page = OutdatedPage::default();
        let mut from = Bytes::from(from);
        let mut read = 0;
        loop {
            let mut next = None;
            scan(&*self.store, Space::Dead, &from, |key, value| {
                if read == keys {
                    page.next = Some(key.into());
                    return Ok(ControlFlow::Break(()));
                }
                read += 1;
                let Entry { route, id, .. } = Placed::read(Space::Dead, key, value)?.entry;
                let (at, seq) = key::time_of(key)?;
                if at >= before {
                    page.oldest_left = Some(page.oldest_left.map_or(at, |left| left.min(at)));
                    next = Some(key::route_time(route, u64::MAX, u64::MAX));
                    return Ok(ControlFlow::Break(()));
                }
                page.found.push(Timed {
                    position: Position { at, seq },
                    route: route.into(),
                    id: id.into(),
                });
                Ok(ControlFlow::Continue(()))
            })?;
            match next {
                Some(next) => from = next,
                None => return Ok(page),
            }
        }
    }
}
