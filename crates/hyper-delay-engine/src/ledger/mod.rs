//! The operations on stored tasks.
//!
//! The ledger applies operations one after another. Each reads the state of its task, including the
//! changes of the current batch, and adds its writes to that batch. They take effect when
//! the batch is committed.

mod audit;
mod batches;
mod dedupe_window;
mod existing;
mod held;
mod jobs;
mod key_hash;
mod listing;
mod low_water;
mod lowest;
mod mend;
mod numbers;
#[cfg(any(test, feature = "test-util"))]
mod one_batch;
mod op;
mod operating;
mod operation;
mod paused;
mod recent;
mod refusing;
mod retention;
mod scan;
mod tally;
mod task_rows;
mod view;
mod writes;

use std::sync::Arc;

pub(crate) use audit::Changed;
pub use dedupe_window::DedupeWindow;
pub use listing::{Listing, Row};
pub use lowest::keep_lowest;
pub use mend::mend_after_loss;
pub use op::{Kicked, Op, Order, Outcome, PendingLimits, Subject};
pub use operation::{Actor, Advance, Audited, Bulk, Sweep, SweepAct};
pub(crate) use retention::RetentionCursor;
pub use task_rows::entry_key;
pub use view::{Listed, Position, Timed, View};

use crate::sizes::Sizes;
use audit::Audit;
use existing::Existing;
use hyper_delay_store::{
    Store, StoreError,
    record::{Name, Place, key, number},
};
use jobs::Jobs;
use numbers::Numbers;
use paused::Paused;
use task_rows::TaskRows;

/// Only the ledger writes to the store of a running server.
#[derive(Debug)]
pub struct Ledger<S> {
    rows: TaskRows<S>,
    numbers: Numbers,
    dedupe_window: DedupeWindow,
    paused: Paused,
    jobs: Jobs,
    audit: Audit,
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
        Self::open_from(store, dedupe_millis, number::first_of(0), sizes)
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
            numbers: Numbers::open(&*store, first)?,
            dedupe_window: DedupeWindow::open(&*store, dedupe_millis)?,
            paused: Paused::open(&*store)?,
            jobs: Jobs::open(&*store, sizes)?,
            audit: Audit::open(&*store, first)?,
            rows: TaskRows::open(store, sizes)?,
        })
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
            Op::Finish(subject) => self.finish(subject, now),
            Op::Retry {
                subject,
                at,
                attempt,
                failures,
            } => self.update(subject, |name| Name {
                place: Place::Waiting(*at),
                attempt: *attempt,
                failures: *failures,
                ..name
            }),
            Op::Park(subject) => self.update(subject, |name| Name {
                place: match name.place {
                    Place::Waiting(at) => Place::Parked(at),
                    other => other,
                },
                ..name
            }),
            Op::Bury {
                subject,
                at,
                attempt,
                failures,
                reason,
            } => {
                let outcome = self.update(subject, |name| Name {
                    place: Place::Dead(*at),
                    attempt: *attempt,
                    failures: *failures,
                    ..name
                })?;
                if let (Outcome::Moved(true), Some(reason)) = (&outcome, reason) {
                    self.rows.set_reason(subject, *at, reason)?;
                }
                Ok(outcome)
            }
            Op::Expire { subject, at } => self.expire(subject, *at),
            Op::Count { subject, attempt } => self.update(subject, |name| Name {
                attempt: name.attempt.max(*attempt),
                ..name
            }),
            Op::Cancel { route, id } => self.cancel(route, id),
            Op::Kick { route, id, at } => self.kick(route, id, *at),
            Op::Delete { route, id } => self.delete(route, id),
            Op::Pause(route) => Ok(Outcome::Moved(
                self.paused.pause(route, &mut self.rows.writes),
            )),
            Op::Resume(route) => Ok(Outcome::Moved(
                self.paused.resume(route, &mut self.rows.writes),
            )),
            Op::Begin(bulk) => Ok(self.begin(bulk)),
            Op::Sweep(sweep) => self.sweep(sweep),
            Op::Advance(advance) => Ok(self.advance(advance)),
            Op::Audited(audited) => self.audited(audited, now),
            Op::AdvanceLowWater(at) => {
                self.rows.raise_low_water(*at);
                Ok(Outcome::Moved(true))
            }
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

    fn schedule(&mut self, order: &Order, now: u64) -> Result<Outcome, StoreError> {
        let content = order.content();
        let digest = content.digest();
        let key = key::name(&order.route, &order.id);
        let mut attempt = 0;
        let mut replaced = None;
        match self.existing(order, &key, now)? {
            Some(existing) if existing.digest() == digest => return Ok(Outcome::Same),
            Some(_) if !order.replace => return Ok(Outcome::Taken),
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
        };
        self.rows.create(order, &content, key, &name);
        Ok(Outcome::Scheduled {
            seq,
            attempt,
            replaced,
        })
    }

    fn finish(&mut self, subject: &Subject, now: u64) -> Result<Outcome, StoreError> {
        let Some((key, name)) = self.rows.current(subject)? else {
            return Ok(Outcome::Moved(false));
        };
        self.dedupe_window.insert(
            &mut self.rows.writes,
            &key,
            name.attempt.max(subject.attempt),
            name.digest,
            now,
        );
        self.rows.remove(&subject.route, key, &name);
        Ok(Outcome::Moved(true))
    }

    fn cancel(&mut self, route: &str, id: &str) -> Result<Outcome, StoreError> {
        let key = key::name(route, id);
        let Some(name) = self.rows.name(&key)? else {
            return Ok(Outcome::Cancelled(None));
        };
        self.rows.remove(route, key, &name);
        Ok(Outcome::Cancelled(Some(name.seq)))
    }

    fn expire(&mut self, subject: &Subject, at: u64) -> Result<Outcome, StoreError> {
        // The row of the index can be left of a task that was lost.
        self.rows.remove_expiry(at, subject.seq);
        let Some((key, name)) = self.rows.current(subject)? else {
            return Ok(Outcome::Moved(false));
        };
        self.rows.remove(&subject.route, key, &name);
        Ok(Outcome::Moved(true))
    }

    fn kick(&mut self, route: &str, id: &str, at: u64) -> Result<Outcome, StoreError> {
        let key = key::name(route, id);
        match self.rows.name(&key)? {
            Some(name) if matches!(name.place, Place::Dead(_)) => {
                let revived = Name {
                    place: Place::Waiting(at),
                    failures: 0,
                    ..name.clone()
                };
                self.rows.remove_entry(route, &name);
                self.rows.put(route, id, key, &revived);
                Ok(Outcome::Kicked(Some(Kicked {
                    seq: name.seq,
                    attempt: name.attempt,
                    terms: name.terms,
                })))
            }
            _ => Ok(Outcome::Kicked(None)),
        }
    }

    /// Changes the state of a task and moves its entry, if `subject` is its current revision.
    fn update(
        &mut self,
        subject: &Subject,
        change: impl FnOnce(Name) -> Name,
    ) -> Result<Outcome, StoreError> {
        let Some((key, name)) = self.rows.current(subject)? else {
            return Ok(Outcome::Moved(false));
        };
        self.rows.remove_entry(&subject.route, &name);
        self.rows
            .put(&subject.route, &subject.id, key, &change(name));
        Ok(Outcome::Moved(true))
    }

    /// Returns the stored or recently finished task with the name of an order. `None` if the server
    /// made the id, which is unique.
    fn existing(
        &self,
        order: &Order,
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
