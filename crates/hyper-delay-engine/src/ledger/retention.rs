//! Dead letters by age.

use std::{
    ops::ControlFlow,
    panic::{self, AssertUnwindSafe},
    sync::Arc,
};

use super::{LedgerView, Position, TimedTask, scan::scan};
use hyper_delay_store::{
    Space, Store, StoreError,
    record::{EntryRow, TaskEntry, key},
};

/// The routes with dead letters that a page reads. Each takes a search in the store.
const ROUTES: usize = 32;

/// The start of a page of the dead letters of all routes. Default: at the first route.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RetentionCursor {
    route: Arc<str>,
    /// The rest of the route begins here. `None`: the page begins after the route.
    rest: Option<Position>,
}

/// A part of the dead letters of all routes.
#[derive(Debug, Default)]
pub(crate) struct RetentionPage {
    /// Those that died before the time that was asked for, with the times of their deaths.
    pub found: Vec<TimedTask>,
    /// When the first of the others died, in Unix milliseconds.
    pub oldest_left: Option<u64>,
    /// The start of the next part. `None` if this is the last one.
    pub next: Option<RetentionCursor>,
    /// The error of a route whose dead letters could not be read.
    pub damage: Option<StoreError>,
}

impl<S: Store> LedgerView<S> {
    /// Returns the dead letters that died from `since` on and before `before`, in Unix milliseconds.
    /// Reads at most `keys` of them, and as many routes. A damaged route is passed over.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(crate) fn retention_page(
        &self,
        from: &RetentionCursor,
        (since, before): (u64, u64),
        keys: usize,
    ) -> Result<RetentionPage, StoreError> {
        let mut page = RetentionPage::default();
        let mut routes = Vec::new();
        if let Some(rest) = from.rest {
            routes.push((from.route.clone(), rest));
        }
        let mut left = keys;
        let mut last = None;
        // The store's library can panic on a damaged block, which must not end the server.
        catch_read_panic(|| {
            self.routes_after(&from.route, |route, counts| {
                if left == 0 || routes.len() == ROUTES {
                    page.next = last.take();
                    return ControlFlow::Break(());
                }
                left -= 1;
                let route: Arc<str> = route.into();
                if counts.dead > 0 {
                    routes.push((route.clone(), Position::start_of(since)));
                }
                last = Some(RetentionCursor { route, rest: None });
                ControlFlow::Continue(())
            })
        })?;
        for (route, first) in routes {
            let most = keys - page.found.len();
            match catch_read_panic(|| self.dead_before(&route, first, before, most)) {
                Ok(read) => {
                    let oldest = [page.oldest_left, read.oldest_left];
                    page.oldest_left = oldest.into_iter().flatten().min();
                    page.found.extend(read.found);
                    if let Some(rest) = read.rest {
                        let rest = Some(rest);
                        page.next = Some(RetentionCursor { route, rest });
                        break;
                    }
                }
                Err(error) if error.is_damage() => page.damage = Some(error),
                Err(error) => return Err(error),
            }
        }
        Ok(page)
    }

    fn dead_before(
        &self,
        route: &Arc<str>,
        from: Position,
        before: u64,
        most: usize,
    ) -> Result<DeadPage, StoreError> {
        let mut dead = DeadPage::default();
        let prefix = key::route(route);
        let from = key::route_time(route, from.at, from.seq);
        scan(&*self.store, Space::Dead, &from, |key, value| {
            if !key.starts_with(&prefix) {
                return Ok(ControlFlow::Break(()));
            }
            let (at, seq) = key::time_of(key)?;
            if at >= before {
                dead.oldest_left = Some(at);
                return Ok(ControlFlow::Break(()));
            }
            let position = Position { at, seq };
            if dead.found.len() == most {
                dead.rest = Some(position);
                return Ok(ControlFlow::Break(()));
            }
            let TaskEntry { id, .. } = EntryRow::read(Space::Dead, key, value)?.entry;
            dead.found.push(TimedTask {
                position,
                route: route.clone(),
                id: id.into(),
            });
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(dead)
    }
}

/// A part of the dead letters of a route.
#[derive(Debug, Default)]
struct DeadPage {
    found: Vec<TimedTask>,
    oldest_left: Option<u64>,
    /// Where the rest begins, if there is more.
    rest: Option<Position>,
}

fn catch_read_panic<T>(read: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    panic::catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(StoreError::damage("read", "the read has panicked")))
}
