//! Typed reads of what the ledger writes. Only this module and the ledger know the layout of keys.

use std::{ops::ControlFlow, sync::Arc};

use rustc_hash::FxHashSet;

use super::{
    paused_routes::PausedRoutes,
    scan::{scan, scan_meta},
};
use hyper_delay_protocol::Terms;
use hyper_delay_store::{
    ReadStore, Space, StoreError,
    record::{
        self, AuditLine, BulkJob, ExpiryEntry, Name, StoredCounts, Task, TaskEntry, key,
        sharded_number,
    },
};

/// A position in a space that is ordered by time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Unix milliseconds.
    pub at: u64,
    /// The sequence number, which orders tasks of the same time.
    pub seq: u64,
}

impl Position {
    /// Returns the first position of a time.
    #[must_use]
    pub const fn start_of(at: u64) -> Self {
        Self { at, seq: 0 }
    }

    /// Returns the position after this one.
    #[must_use]
    pub(crate) const fn next(self) -> Self {
        Self {
            at: self.at,
            seq: self.seq.saturating_add(1),
        }
    }
}

/// A task as it is listed in a space that is ordered by time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedTask {
    /// The due time or, for a dead letter, the time of death; and the sequence number.
    pub(crate) position: Position,
    /// The route of the task.
    pub(crate) route: Arc<str>,
    /// The id of the task.
    pub(crate) id: Arc<str>,
    /// Number of rounds so far, over all revisions.
    pub(crate) attempt: u32,
    /// Number of rounds that failed since the task was scheduled, replaced or kicked.
    pub(crate) failures: u32,
    /// What applies to the task instead of the settings.
    pub(crate) terms: Option<Box<Terms>>,
}

/// A task and the time of its expiry or death.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TimedTask {
    /// The time, and the sequence number of the task.
    pub(crate) position: Position,
    /// The route of the task.
    pub(crate) route: Arc<str>,
    /// The id of the task.
    pub(crate) id: Arc<str>,
}

/// Reads tasks from a store.
#[derive(Debug)]
pub struct LedgerView<S> {
    pub(super) store: Arc<S>,
}

impl<S> Clone for LedgerView<S> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
        }
    }
}

impl<S: ReadStore> LedgerView<S> {
    /// Returns the paused routes.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(crate) fn paused(&self) -> Result<FxHashSet<Arc<str>>, StoreError> {
        Ok(PausedRoutes::open(&*self.store)?
            .routes()
            .cloned()
            .collect())
    }

    /// Creates a view of `store`.
    #[must_use]
    pub const fn new(store: Arc<S>) -> Self {
        Self { store }
    }

    /// Visits the waiting tasks from a position on, ordered by due time, until `visit` breaks.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(crate) fn waiting(
        &self,
        from: Position,
        mut visit: impl FnMut(ListedTask) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let from = key::time(from.at, from.seq);
        self.entries(Space::Waiting, &from, &[], |position, value| {
            let entry: TaskEntry<'_> = record::decode(value)?;
            Ok(visit(listed(position, entry.route.into(), entry)))
        })
    }

    /// Visits the parked tasks of a route from a position on, ordered by due time, until `visit`
    /// breaks.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(crate) fn parked(
        &self,
        route: &Arc<str>,
        from: Position,
        mut visit: impl FnMut(ListedTask) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let from = key::route_time(route, from.at, from.seq);
        let prefix = key::route(route);
        self.entries(Space::Parked, &from, &prefix, |position, value| {
            let entry: TaskEntry<'_> = record::decode(value)?;
            Ok(visit(listed(position, route.clone(), entry)))
        })
    }

    /// Visits the tasks that expire, from a position on, ordered by the time of expiry, until
    /// `visit` breaks.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(crate) fn expiring(
        &self,
        from: Position,
        mut visit: impl FnMut(TimedTask) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let from = key::expiry(from.at, from.seq);
        self.entries(Space::Meta, &from, key::EXPIRY, |position, value| {
            let name: ExpiryEntry<'_> = record::decode(value)?;
            Ok(visit(TimedTask {
                position,
                route: name.route.into(),
                id: name.id.into(),
            }))
        })
    }

    /// Returns the state of a task. `None` if there is no task with this name.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn name(&self, route: &str, id: &str) -> Result<Option<Name>, StoreError> {
        let value = self.store.get(Space::Names, &key::name(route, id))?;
        value.map(|value| record::decode(&value)).transpose()
    }

    /// Visits the tasks of a route, ordered by id, until `visit` breaks. Starts after the id
    /// `after` if it is given.
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
        scan(&*self.store, Space::Names, &from, |key, value| {
            let Some(id) = key.strip_prefix(&*prefix) else {
                return Ok(ControlFlow::Break(()));
            };
            let (id, name) = (key::text_of(id)?, record::decode(value)?);
            Ok(match after == Some(id) {
                true => ControlFlow::Continue(()),
                false => visit(id, name),
            })
        })
    }

    /// Calls `read` with the content of a revision and returns its result. `None` if the revision
    /// does not exist any more.
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
    pub fn counts(&self, route: &str) -> Result<StoredCounts, StoreError> {
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
    pub fn totals(&self) -> Result<StoredCounts, StoreError> {
        self.counts("")
    }

    /// Visits the counts of all routes that have tasks, shorter names first.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn routes(&self, mut visit: impl FnMut(&str, StoredCounts)) -> Result<(), StoreError> {
        self.routes_while(|name, counts| {
            visit(name, counts);
            ControlFlow::Continue(())
        })
    }

    /// As [`routes`](Self::routes), until `visit` breaks.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(crate) fn routes_while(
        &self,
        visit: impl FnMut(&str, StoredCounts) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.routes_after("", visit)
    }

    /// As `routes_while`, from the route after this one on. Without a name,
    /// from the first one on. The name must not be longer than that of a route.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn routes_after(
        &self,
        after: &str,
        mut visit: impl FnMut(&str, StoredCounts) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let after = key::route(after);
        let from: &[u8] = match after.len() {
            1 => &[1],
            _ => &after,
        };
        scan(&*self.store, Space::Counts, from, |key, value| {
            if key == &*after {
                return Ok(ControlFlow::Continue(()));
            }
            Ok(visit(key::text_of(&key[1..])?, record::decode(value)?))
        })
    }

    /// Returns the bulk operations, in the order in which they began.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn jobs(&self) -> Result<Vec<(u64, BulkJob)>, StoreError> {
        let mut jobs = Vec::new();
        scan_meta(&*self.store, key::JOBS, |rest, value| {
            jobs.push((key::number_of(rest)?, record::decode(value)?));
            Ok(())
        })?;
        sharded_number::sort_by_time(&mut jobs, |(id, job): &(u64, BulkJob)| (*id, job.began_at));
        Ok(jobs)
    }

    /// Returns the stored lines of the audit, in the order in which they were written.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn audit(&self) -> Result<Vec<AuditLine>, StoreError> {
        let mut lines = Vec::new();
        scan_meta(&*self.store, key::AUDIT, |_, value| {
            lines.push(AuditLine::decode(value)?);
            Ok(())
        })?;
        sharded_number::sort_by_time(&mut lines, |line: &AuditLine| (line.number, line.at));
        Ok(lines)
    }

    fn entries(
        &self,
        space: Space,
        from: &[u8],
        prefix: &[u8],
        mut visit: impl FnMut(Position, &[u8]) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        scan(&*self.store, space, from, |key, value| {
            if !key.starts_with(prefix) {
                return Ok(ControlFlow::Break(()));
            }
            let (at, seq) = key::time_of(key)?;
            visit(Position { at, seq }, value)
        })
    }
}

fn listed(position: Position, route: Arc<str>, entry: TaskEntry<'_>) -> ListedTask {
    ListedTask {
        position,
        route,
        id: entry.id.into(),
        attempt: entry.attempt,
        failures: entry.failures,
        terms: entry.terms,
    }
}
