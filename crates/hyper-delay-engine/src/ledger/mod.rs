//! The operations on stored tasks.
//!
//! The ledger applies operations one after another. Each reads the state of its task, including the
//! changes of the current batch, and adds its writes to that batch. They take effect when
//! the batch is committed.

mod audit_log;
mod batches;
mod bulk_jobs;
mod bulk_move;
mod dedupe_window;
mod existing;
mod listing;
mod low_water;
mod mend;
#[cfg(any(test, feature = "test-util"))]
mod one_batch;
mod op;
mod operator_changes;
mod operator_op;
mod paused_routes;
mod recent_values;
mod refusal;
mod retain_lowest;
mod retention;
mod retrying;
mod route_counts;
mod scan;
mod sequence_numbers;
mod task_move;
mod task_rows;
mod token_pending;
mod view;
mod write_buffer;

use std::sync::Arc;

pub(crate) use audit_log::AuditedChange;
pub(crate) use bulk_move::selects;
pub use dedupe_window::DedupeWindow;
pub use listing::{ListingQuery, ListingRow};
pub use mend::mend_after_loss;
pub use op::{KickedTask, Op, Outcome, PendingLimits, ScheduleOrder, TaskRevision};
pub use operator_op::{Actor, AuditedOp, BulkAdvance, NewBulkJob, Sweep, SweepAct, SweepMove};
pub use retain_lowest::retain_lowest;
pub(crate) use retention::{RetentionCursor, RetentionPage};
pub use retrying::RetryingPage;
pub use task_move::{MovedTask, NewDueTime, TaskMove, Unmoved};
pub use task_rows::entry_key;
pub use view::{LedgerView, Position};
pub(crate) use view::{ListedTask, TimedTask};

use crate::{release::Release, sizes::Sizes};
use audit_log::AuditLog;
use bulk_jobs::BulkJobs;
use existing::Existing;
use hyper_delay_store::{
    Store, StoreError,
    record::{Name, Place, key, sharded_number},
};
use paused_routes::PausedRoutes;
use sequence_numbers::SequenceNumbers;
use task_rows::TaskRows;

/// Only the ledger writes to the store of a running server.
#[derive(Debug)]
pub struct Ledger<S> {
    rows: TaskRows<S>,
    numbers: SequenceNumbers,
    dedupe_window: DedupeWindow,
    paused: PausedRoutes,
    jobs: BulkJobs,
    audit: AuditLog,
}

impl<S: Store> Ledger<S> {
    /// Opens the ledger of a store. Names of finished tasks are kept for `dedupe_millis`
    /// milliseconds; with 0 none is kept. After an accepted loss, first makes the spaces of the
    /// store agree, which reads every task.
    ///
    /// # Errors
    ///
    /// If the store cannot be read, or a newer server wrote it.
    pub fn open(store: Arc<S>, dedupe_millis: u64, sizes: Sizes) -> Result<Self, StoreError> {
        Self::open_from(store, dedupe_millis, sharded_number::first_of(0), sizes)
    }

    /// Opens the ledger of a store whose numbers, of tasks, bulk operations and lines of the audit,
    /// begin with `first`. Otherwise as [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// If the store cannot be read, or a newer server wrote it.
    pub fn open_from(
        store: Arc<S>,
        dedupe_millis: u64,
        first: u64,
        sizes: Sizes,
    ) -> Result<Self, StoreError> {
        mend_after_loss(&*store, sizes)?;
        Ok(Self {
            numbers: SequenceNumbers::open(&*store, first)?,
            dedupe_window: DedupeWindow::open(&*store, dedupe_millis)?,
            paused: PausedRoutes::open(&*store)?,
            jobs: BulkJobs::open(&*store, sizes)?,
            audit: AuditLog::open(&*store, first)?,
            rows: TaskRows::open(store, sizes)?,
        })
    }

    /// Returns the same ledger for an engine that behaves like a release.
    #[must_use]
    pub fn with_release(mut self, release: Release) -> Self {
        self.rows.behave_like(release);
        self
    }

    /// Returns how much is read, kept or done at once.
    #[must_use]
    pub(crate) const fn sizes(&self) -> Sizes {
        self.rows.sizes()
    }

    /// Returns the low-water mark in Unix milliseconds: no task waits for an earlier time.
    #[must_use]
    pub fn low_water(&self) -> u64 {
        self.rows.low_water()
    }

    /// Adds an operation to the current batch and returns its outcome. `now` is in Unix
    /// milliseconds.
    ///
    /// # Errors
    ///
    /// If the store cannot be read. The batch must not be committed after that.
    pub fn apply(&mut self, op: &Op, now: u64) -> Result<Outcome, StoreError> {
        match op {
            Op::Schedule(order) => self.schedule(order, now),
            Op::Finish(revision) => self.finish(revision, now),
            Op::Retry {
                revision,
                at,
                attempt,
                failures,
                failure,
            } => self.update(revision, |name| Name {
                place: Place::Waiting(*at),
                attempt: *attempt,
                failures: *failures,
                failure: failure.clone().or(name.failure),
                ..name
            }),
            Op::Park(revision) => self.update(revision, |name| Name {
                place: match name.place {
                    Place::Waiting(at) => Place::Parked(at),
                    other => other,
                },
                // A parked task leaves the memory, and the numbers of its rounds are not used again.
                attempt: name.attempt.max(revision.attempt),
                ..name
            }),
            Op::Bury {
                revision,
                at,
                attempt,
                failures,
                reason,
                failure,
            } => {
                let outcome = self.update(revision, |name| Name {
                    place: Place::Dead(*at),
                    attempt: *attempt,
                    failures: *failures,
                    failure: failure.clone().or(name.failure),
                    ..name
                })?;
                if let (Outcome::Applied(true), Some(reason)) = (&outcome, reason) {
                    self.rows.set_reason(revision, *at, reason)?;
                }
                Ok(outcome)
            }
            Op::Expire { revision, at } => self.expire(revision, *at),
            Op::Count { revision, attempt } => self.update(revision, |name| Name {
                attempt: name.attempt.max(*attempt),
                ..name
            }),
            Op::Cancel { route, id } => self.cancel(route, id),
            Op::Move(wanted) => self.move_task(wanted),
            Op::Kick { route, id, at } => self.kick(route, id, *at),
            Op::Delete { route, id } => self.delete(route, id),
            Op::Pause(route) => Ok(Outcome::Applied(
                self.paused.pause(route, &mut self.rows.writes),
            )),
            Op::Resume(route) => Ok(Outcome::Applied(
                self.paused.resume(route, &mut self.rows.writes),
            )),
            Op::BeginBulk(bulk) => Ok(self.begin_bulk(bulk)),
            Op::Sweep(sweep) => self.sweep(sweep),
            Op::AdvanceBulk(advance) => Ok(self.advance_bulk(advance)),
            Op::Audited(audited) => self.apply_audited(audited, now),
            Op::AdvanceLowWater(at) => {
                self.rows.raise_low_water(*at);
                Ok(Outcome::Applied(true))
            }
            Op::CheckRetrying { after } => self.check_retrying(after),
        }
    }

    /// Returns the number of tasks in the store: waiting, parked and dead. Changes since the last
    /// batch was taken are not counted.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn tasks(&self) -> Result<u64, StoreError> {
        self.rows.total()
    }

    fn schedule(&mut self, order: &ScheduleOrder, now: u64) -> Result<Outcome, StoreError> {
        let content = order.content();
        let digest = content.digest();
        let key = key::name(&order.route, &order.id);
        let mut attempt = 0;
        let mut replaced = None;
        match self.existing(order, &key, now)? {
            Some(existing) if existing.digest() == digest => return Ok(existing.same(order)),
            _ if order.expires_before_due() => return Ok(Outcome::ExpiresBeforeDue),
            Some(_) if !order.replace => return Ok(Outcome::NameTaken),
            Some(Existing::Task(name)) => {
                attempt = name.attempt;
                replaced = Some(name.seq);
                self.rows.remove_revision(&order.route, &name);
            }
            Some(Existing::Done(done)) => {
                attempt = done.attempt;
                self.dedupe_window.remove(&mut self.rows.writes, &key);
            }
            None => {}
        }
        let seq = self.numbers.next();
        let name = Name {
            seq,
            fire_at: order.fire_at,
            place: Place::Waiting(order.at),
            attempt,
            failures: 0,
            digest,
            bytes: order.payload.len() as u64,
            terms: order.terms.clone(),
            failure: None,
        };
        self.rows.create(order, &content, key, &name);
        Ok(Outcome::Scheduled {
            seq,
            attempt,
            replaced,
        })
    }

    fn finish(&mut self, revision: &TaskRevision, now: u64) -> Result<Outcome, StoreError> {
        let Some((key, name)) = self.rows.current(revision)? else {
            return Ok(Outcome::Applied(false));
        };
        self.dedupe_window.insert(
            &mut self.rows.writes,
            &key,
            name.attempt.max(revision.attempt),
            name.digest,
            now,
        );
        self.rows.remove(&revision.route, key, &name);
        Ok(Outcome::Applied(true))
    }

    fn cancel(&mut self, route: &str, id: &str) -> Result<Outcome, StoreError> {
        let key = key::name(route, id);
        let Some(name) = self.rows.name(&key)? else {
            return Ok(Outcome::Cancelled(None));
        };
        self.rows.remove(route, key, &name);
        Ok(Outcome::Cancelled(Some(name.seq)))
    }

    fn expire(&mut self, revision: &TaskRevision, at: u64) -> Result<Outcome, StoreError> {
        // The row of the index can be left of a task that was lost.
        self.rows.remove_expiry(at, revision.seq);
        let Some((key, name)) = self.rows.current(revision)? else {
            return Ok(Outcome::Applied(false));
        };
        self.rows.remove(&revision.route, key, &name);
        Ok(Outcome::Applied(true))
    }

    fn kick(&mut self, route: &str, id: &str, at: u64) -> Result<Outcome, StoreError> {
        let key = key::name(route, id);
        match self.rows.name(&key)? {
            Some(name) if matches!(name.place, Place::Dead(_)) => {
                let revived = Name {
                    place: Place::Waiting(at),
                    failures: 0,
                    failure: None,
                    ..name.clone()
                };
                self.rows.remove_entry(route, &name);
                self.rows.put(route, id, key, &revived);
                Ok(Outcome::Kicked(Some(KickedTask {
                    seq: name.seq,
                    attempt: name.attempt,
                    terms: name.terms,
                })))
            }
            _ => Ok(Outcome::Kicked(None)),
        }
    }

    /// Changes the state of a task and moves its entry, if `revision` is the current one.
    fn update(
        &mut self,
        revision: &TaskRevision,
        change: impl FnOnce(Name) -> Name,
    ) -> Result<Outcome, StoreError> {
        let Some((key, name)) = self.rows.current(revision)? else {
            return Ok(Outcome::Applied(false));
        };
        self.rows.remove_entry(&revision.route, &name);
        self.rows
            .put(&revision.route, &revision.id, key, &change(name));
        Ok(Outcome::Applied(true))
    }

    /// Returns the stored or recently finished task with the name of an order. `None` if the server
    /// made the id, which is unique.
    fn existing(
        &self,
        order: &ScheduleOrder,
        key: &[u8],
        now: u64,
    ) -> Result<Option<Existing>, StoreError> {
        if !order.named {
            return Ok(None);
        }
        if let Some(name) = self.rows.name(key)? {
            return Ok(Some(Existing::Task(name)));
        }
        let done = self.dedupe_window.find(&self.rows.writes, key, now)?;
        Ok(done.map(Existing::Done))
    }
}

#[cfg(test)]
mod tests;
