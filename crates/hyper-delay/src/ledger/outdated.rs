//! Dead letters in the order in which their retention ends.

use std::ops::ControlFlow;

use super::{Position, Timed, View};
use crate::{
    record::{Placed, key},
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
            let mut result = Ok(());
            self.store.scan(Space::Dead, &from, &mut |key, value| {
                if read == keys {
                    page.next = Some(key.into());
                    return ControlFlow::Break(());
                }
                read += 1;
                let row = Placed::read(Space::Dead, key, value)
                    .and_then(|placed| Ok((placed.entry, key::time_of(key)?)));
                match row {
                    Ok((entry, (at, seq))) if at < before => {
                        page.found.push(Timed {
                            position: Position { at, seq },
                            route: entry.route.into(),
                            id: entry.id.into(),
                        });
                        ControlFlow::Continue(())
                    }
                    Ok((entry, (at, _))) => {
                        page.oldest_left = Some(page.oldest_left.map_or(at, |left| left.min(at)));
                        next = Some(key::route_time(entry.route, u64::MAX, u64::MAX));
                        ControlFlow::Break(())
                    }
                    Err(error) => {
                        result = Err(error);
                        ControlFlow::Break(())
                    }
                }
            })?;
            result?;
            match next {
                Some(next) => from = next,
                None => return Ok(page),
            }
        }
    }
}
