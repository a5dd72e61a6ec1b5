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
#[cfg(any(test, feature = "internals"))]
mod one_batch;
mod op;
mod operating;
mod operation;
mod paused;
mod recent;
mod refusing;
mod tally;
mod view;
mod writes;

use std::sync::Arc;

pub(crate) use audit::described as audit_of;
pub(crate) use listing::{Listing, Row};
pub(crate) use lowest::keep_lowest;
pub(crate) use mend::mend_after_loss;
pub(crate) use op::{Kicked, Op, Order, Outcome, PendingLimits, Subject};
pub(crate) use operation::{Actor, Advance, Audited, Bulk, Sweep, SweepAct};
pub(crate) use view::{Expires, Listed, Position, View};

use crate::{
    record::{self, Entry, Expiring, Name, Place, Task, key},
    store::{Bytes, Space, Store, StoreError},
};
use audit::Audit;
use dedupe_window::DedupeWindow;
use existing::Existing;
use held::Held;
use jobs::Jobs;
use low_water::LowWater;
use numbers::Numbers;
use paused::Paused;
use tally::Tally;
use writes::Writes;

/// Only the ledger writes to the store of a running server.
#[derive(Debug)]
pub(crate) struct Ledger<S> {
    writes: Writes<S>,
    numbers: Numbers,
    low_water: LowWater,
    dedupe_window: DedupeWindow,
    tally: Tally,
    held: Held,
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
    pub(crate) fn open(store: Arc<S>, dedupe_millis: u64) -> Result<Self, StoreError> {
        mend_after_loss(&*store)?;
        Ok(Self {
            numbers: Numbers::open(&*store)?,
            low_water: LowWater::open(&*store)?,
            dedupe_window: DedupeWindow::open(&*store, dedupe_millis)?,
            tally: Tally::default(),
            held: Held::default(),
            paused: Paused::open(&*store)?,
            jobs: Jobs::open(&*store)?,
            audit: Audit::open(&*store)?,
            writes: Writes::new(store),
        })
    }

    /// Returns the low-water mark in Unix milliseconds: no task waits for an earlier time.
    #[must_use]
    pub(crate) fn low_water(&self) -> u64 {
        self.low_water.at()
    }

    /// Adds an operation to the current batch and returns its outcome. `now` is in Unix
    /// milliseconds.
    ///
    /// # Errors
    ///
    /// If the store cannot be read. The batch must not be committed after that.
    pub(crate) fn apply(&mut self, op: &Op, now: u64) -> Result<Outcome, StoreError> {
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
                    self.set_reason(subject, *at, reason)?;
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
            Op::Pause(route) => Ok(Outcome::Moved(self.paused.pause(route, &mut self.writes))),
            Op::Resume(route) => Ok(Outcome::Moved(self.paused.resume(route, &mut self.writes))),
            Op::Begin(bulk) => Ok(self.begin(bulk)),
            Op::Sweep(sweep) => self.sweep(sweep),
            Op::Advance(advance) => Ok(self.advance(advance)),
            Op::Audited(audited) => self.audited(audited, now),
            Op::AdvanceLowWater(at) => {
                self.low_water.raise(*at, &mut self.writes);
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
    pub(crate) fn tasks(&self) -> Result<u64, StoreError> {
        let counts = Tally::total(&self.writes)?;
        Ok(counts.waiting + counts.parked + counts.dead)
    }

    fn schedule(&mut self, order: &Order, now: u64) -> Result<Outcome, StoreError> {
        let content = content(order);
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
                self.remove(&order.route, &name);
            }
            Some(Existing::Done(done)) => {
                attempt = done.attempt;
                self.dedupe_window.remove(&mut self.writes, &key);
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
        if let Some(key) = name.expiry_key() {
            let expiring = Expiring {
                route: &order.route,
                id: &order.id,
            };
            let value = record::encode(&expiring);
            self.writes.put(Space::Meta, key, value);
        }
        self.writes.count_schedule();
        self.writes.put(
            Space::Tasks,
            key::task(seq),
            record::encode_with_hint(&content, order.payload.len() + order.headers.text().len()),
        );
        self.put(&order.route, &order.id, key, &name);
        Ok(Outcome::Scheduled {
            seq,
            attempt,
            replaced,
        })
    }

    fn finish(&mut self, subject: &Subject, now: u64) -> Result<Outcome, StoreError> {
        let Some((key, name)) = self.current(subject)? else {
            return Ok(Outcome::Moved(false));
        };
        self.remove(&subject.route, &name);
        self.dedupe_window.insert(
            &mut self.writes,
            &key,
            name.attempt.max(subject.attempt),
            name.digest,
            now,
        );
        self.writes.remove(Space::Names, key);
        Ok(Outcome::Moved(true))
    }

    fn cancel(&mut self, route: &str, id: &str) -> Result<Outcome, StoreError> {
        let key = key::name(route, id);
        let Some(name) = self.name(&key)? else {
            return Ok(Outcome::Cancelled(None));
        };
        self.remove(route, &name);
        self.writes.remove(Space::Names, key);
        Ok(Outcome::Cancelled(Some(name.seq)))
    }

    fn expire(&mut self, subject: &Subject, at: u64) -> Result<Outcome, StoreError> {
        // The row of the index can be left of a task that was lost.
        self.writes
            .remove(Space::Meta, key::expiry(at, subject.seq));
        let Some((key, name)) = self.current(subject)? else {
            return Ok(Outcome::Moved(false));
        };
        self.remove(&subject.route, &name);
        self.writes.remove(Space::Names, key);
        Ok(Outcome::Moved(true))
    }

    fn kick(&mut self, route: &str, id: &str, at: u64) -> Result<Outcome, StoreError> {
        let key = key::name(route, id);
        match self.name(&key)? {
            Some(name) if matches!(name.place, Place::Dead(_)) => {
                let revived = Name {
                    place: Place::Waiting(at),
                    failures: 0,
                    ..name.clone()
                };
                self.remove_entry(route, &name);
                self.put(route, id, key, &revived);
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
        let Some((key, name)) = self.current(subject)? else {
            return Ok(Outcome::Moved(false));
        };
        self.remove_entry(&subject.route, &name);
        self.put(&subject.route, &subject.id, key, &change(name));
        Ok(Outcome::Moved(true))
    }

    /// Rewrites the entry of a dead letter with the reason for its death.
    fn set_reason(&mut self, subject: &Subject, at: u64, reason: &str) -> Result<(), StoreError> {
        let Some((_, name)) = self.current(subject)? else {
            return Ok(());
        };
        let entry = Entry {
            route: &subject.route,
            id: &subject.id,
            attempt: name.attempt,
            failures: name.failures,
            terms: name.terms,
        };
        let key = key::route_time(&subject.route, at, subject.seq);
        let value = record::encode_dead(&entry, reason);
        self.writes.put(Space::Dead, key, value);
        Ok(())
    }

    /// Returns the key and the state of a task, if `subject` is its current revision.
    fn current(&self, subject: &Subject) -> Result<Option<(Bytes, Name)>, StoreError> {
        let key = key::name(&subject.route, &subject.id);
        let name = self.name(&key)?;
        Ok(name
            .filter(|name| name.seq == subject.seq)
            .map(|name| (key, name)))
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
        if let Some(name) = self.name(key)? {
            return Ok(Some(Existing::Task(name)));
        }
        let done = self.dedupe_window.find(&self.writes, key, now)?;
        Ok(done.map(Existing::Done))
    }

    /// Returns the state of a task.
    fn name(&self, key: &[u8]) -> Result<Option<Name>, StoreError> {
        let value = self.writes.get(Space::Names, key)?;
        value.map(|value| record::decode(&value)).transpose()
    }

    /// Writes the state of a task and its entry.
    fn put(&mut self, route: &str, id: &str, key: Bytes, name: &Name) {
        let (space, place) = entry_key(route, name);
        if let Place::Waiting(at) = name.place {
            self.low_water.lower(at, &mut self.writes);
            self.writes.note_due(at, name.seq, true);
        }
        let entry = Entry {
            route,
            id,
            attempt: name.attempt,
            failures: name.failures,
            terms: name.terms.clone(),
        };
        self.writes.put(space, place, record::encode(&entry));
        self.writes.put(Space::Names, key, record::encode(name));
        self.tally.add(route, name);
        self.held.add(route, name);
    }

    /// Removes the entry of a task.
    fn remove_entry(&mut self, route: &str, name: &Name) {
        let (space, place) = entry_key(route, name);
        self.writes.remove(space, place);
        if let Place::Waiting(at) = name.place {
            self.writes.note_due(at, name.seq, false);
        }
        self.tally.remove(route, name);
        self.held.remove(route, name);
    }

    /// Removes the entry and the content of a task.
    fn remove(&mut self, route: &str, name: &Name) {
        self.remove_entry(route, name);
        if let Some(key) = name.expiry_key() {
            self.writes.remove(Space::Meta, key);
        }
        self.writes.count_removal();
        self.writes.remove(Space::Tasks, key::task(name.seq));
    }
}

/// Returns the content of the revision that an order makes.
fn content(order: &Order) -> Task<'_> {
    Task {
        fire_at: order.fire_at,
        compression: order.compression,
        payload: &order.payload,
        terms: order.terms.clone(),
        headers: order.headers.text(),
    }
}

/// Returns the space and the key of a task's entry.
pub(crate) fn entry_key(route: &str, name: &Name) -> (Space, Bytes) {
    match name.place {
        Place::Waiting(at) => (Space::Waiting, key::time(at, name.seq).into()),
        Place::Parked(at) => (Space::Parked, key::route_time(route, at, name.seq)),
        Place::Dead(at) => (Space::Dead, key::route_time(route, at, name.seq)),
    }
}

#[cfg(test)]
mod tests;
