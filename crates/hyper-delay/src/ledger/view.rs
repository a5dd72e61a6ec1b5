//! Typed reads of what the ledger writes: only this module and the ledger know the layout of keys.

use std::{ops::ControlFlow, sync::Arc};

use crate::{
    record::{self, Counts, Entry, Name, Task, key},
    store::{Space, Store, StoreError},
};

/// A place in an order of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Unix milliseconds.
    pub at: u64,
    /// Orders tasks of the same time.
    pub seq: u64,
}

impl Position {
    /// The first position of a time.
    #[must_use]
    pub const fn start_of(at: u64) -> Self {
        Self { at, seq: 0 }
    }

    /// The position right after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self {
            at: self.at,
            seq: self.seq.saturating_add(1),
        }
    }
}

/// A task as the spaces ordered by time list it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// When it is due or, for a dead letter, when it died; and its sequence number.
    pub position: Position,
    /// Its route.
    pub route: Arc<str>,
    /// Its id.
    pub id: Arc<str>,
    /// Rounds so far, over all revisions.
    pub attempt: u32,
    /// Rounds that failed since it was scheduled, replaced or kicked.
    pub failures: u32,
}

/// A dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// The task; its position is the time of death.
    pub task: Listed,
    /// Why it died, if not by failed rounds.
    pub reason: Option<Arc<str>>,
}

/// Reads of the store in terms of tasks.
#[derive(Debug)]
pub struct View<S> {
    store: Arc<S>,
}

impl<S> Clone for View<S> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
        }
    }
}

impl<S: Store> View<S> {
    /// Reads from `store`.
    #[must_use]
    pub const fn new(store: Arc<S>) -> Self {
        Self { store }
    }

    /// Visits the waiting tasks from a position on, in order of time, until `visit` breaks.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn waiting(
        &self,
        from: Position,
        mut visit: impl FnMut(Listed) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let from = key::time(from.at, from.seq);
        self.entries(Space::Waiting, &from, &[], |position, value| {
            let entry: Entry<'_> = record::decode(value)?;
            Ok(visit(listed(position, entry.route.into(), &entry)))
        })
    }

    /// Visits the parked tasks of a route from a position on, in order of time, until `visit` breaks.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn parked(
        &self,
        route: &Arc<str>,
        from: Position,
        mut visit: impl FnMut(Listed) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let from = key::route_time(route, from.at, from.seq);
        let prefix = key::route(route);
        self.entries(Space::Parked, &from, &prefix, |position, value| {
            let entry: Entry<'_> = record::decode(value)?;
            Ok(visit(listed(position, route.clone(), &entry)))
        })
    }

    /// Visits the dead letters of a route from a position on, oldest first, until `visit` breaks.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn dead(
        &self,
        route: &Arc<str>,
        from: Position,
        mut visit: impl FnMut(DeadLetter) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        let from = key::route_time(route, from.at, from.seq);
        let prefix = key::route(route);
        self.entries(Space::Dead, &from, &prefix, |position, value| {
            let (entry, reason) = record::decode_dead(value)?;
            visit(DeadLetter {
                task: listed(position, route.clone(), &entry),
                reason: reason.map(Arc::from),
            })
        })
    }

    /// Returns what is known of a task by its name.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn name(&self, route: &str, id: &str) -> Result<Option<Name>, StoreError> {
        let value = self.store.get(Space::Names, &key::name(route, id))?;
        value.map(|value| record::decode(&value)).transpose()
    }

    /// Visits the tasks of a route in order of id, those after `after` if it is given, until `visit`
    /// breaks.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn names(
        &self,
        route: &str,
        after: Option<&str>,
        mut visit: impl FnMut(&str, Name) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let prefix = key::route(route);
        let from = key::name(route, after.unwrap_or_default());
        let mut result = Ok(());
        self.store.scan(Space::Names, &from, &mut |key, value| {
            let Some(id) = key.strip_prefix(&*prefix) else {
                return ControlFlow::Break(());
            };
            let read = std::str::from_utf8(id)
                .map_err(|error| StoreError::damage("read a key", error))
                .and_then(|id| Ok((id, record::decode(value)?)));
            match read {
                Ok((id, _)) if after == Some(id) => ControlFlow::Continue(()),
                Ok((id, name)) => visit(id, name),
                Err(error) => {
                    result = Err(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        result
    }

    /// Returns what `read` makes of the content of a revision; `None` if the revision is gone.
    ///
    /// # Errors
    ///
    /// If the content cannot be read.
    pub fn content<R>(
        &self,
        seq: u64,
        read: impl FnOnce(Task<'_>) -> R,
    ) -> Result<Option<R>, StoreError> {
        let value = self.store.get(Space::Tasks, &key::task(seq))?;
        value
            .map(|value| record::decode(&value).map(read))
            .transpose()
    }

    /// Returns the counts of a route.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn counts(&self, route: &str) -> Result<Counts, StoreError> {
        let value = self.store.get(Space::Counts, &key::route(route))?;
        Ok(value
            .map(|value| record::decode(&value))
            .transpose()?
            .unwrap_or_default())
    }

    /// Returns the counts over all routes.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn totals(&self) -> Result<Counts, StoreError> {
        self.counts("")
    }

    /// Visits the counts of all routes that have tasks, shorter names first.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn routes(&self, mut visit: impl FnMut(&str, Counts)) -> Result<(), StoreError> {
        let mut result = Ok(());
        self.store.scan(Space::Counts, &[1], &mut |key, value| {
            let counts = std::str::from_utf8(&key[1..])
                .map_err(|error| StoreError::damage("read a key", error))
                .and_then(|name| Ok((name, record::decode(value)?)));
            match counts {
                Ok((name, counts)) => visit(name, counts),
                Err(error) => result = Err(error),
            }
            match result {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        result
    }

    fn entries(
        &self,
        space: Space,
        from: &[u8],
        prefix: &[u8],
        mut visit: impl FnMut(Position, &[u8]) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        let mut result = Ok(());
        self.store.scan(space, from, &mut |key, value| {
            if !key.starts_with(prefix) {
                return ControlFlow::Break(());
            }
            let visited =
                key::time_of(key).and_then(|(at, seq)| visit(Position { at, seq }, value));
            visited.unwrap_or_else(|error| {
                result = Err(error);
                ControlFlow::Break(())
            })
        })?;
        result
    }
}

fn listed(position: Position, route: Arc<str>, entry: &Entry<'_>) -> Listed {
    Listed {
        position,
        route,
        id: entry.id.into(),
        attempt: entry.attempt,
        failures: entry.failures,
    }
}
