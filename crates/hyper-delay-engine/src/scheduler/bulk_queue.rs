//! The bulk operations that are not done: every dead letter that matches, or every task of a route, or
//! every one that matches and is moved to another time.
//!
//! They run one after another, in batches: the tasks of a batch are read, their operations are
//! submitted together with the place where the next batch begins, and nothing more is read until
//! they are on disk. Other requests are handled between the batches. The ledger counts each task in
//! the batch that changes it, and a task that is gone counts for nothing: a batch that is repeated
//! after a crash changes only what the first try did not.

use std::{collections::VecDeque, sync::Arc};

mod batch;

use super::operator_requests::AUDIT_TARGET;
use crate::{
    ledger::{Actor, BulkAdvance, LedgerView, Op, Sweep},
    sizes::Sizes,
};
use batch::BulkBatch;
use hyper_delay_protocol::{BulkAct, BulkMove, Filter, TaskState};
use hyper_delay_store::{
    Store, StoreError,
    record::{BulkJob, JobState},
};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::scheduler::bulk";

/// The most bulk operations that are not done.
pub(super) const MAX_JOBS: usize = 16;

/// The bulk operations that are not done.
#[derive(Debug, Default)]
pub(super) struct BulkQueue {
    queue: VecDeque<RunningBulkJob>,
    /// Whether a batch of the first one is on its way to the disk.
    is_batch_in_flight: bool,
    /// The number of other bulk operations, which are on their way to the disk.
    beginning: usize,
}

/// The times of a batch, in Unix milliseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct BatchTimes {
    pub(super) now: u64,
    /// The latest time at which a task may be due.
    pub(super) latest: u64,
}

/// A running bulk operation.
#[derive(Debug, Clone)]
pub struct RunningBulkJob {
    id: u64,
    act: BulkAct,
    route: Arc<str>,
    filter: Filter,
    in_flight: bool,
    /// The key or the id after which it continues. Empty at the start.
    cursor: Box<[u8]>,
    /// Number of tasks that were kicked, removed or moved so far.
    changed: u64,
    /// Its end is on its way to the disk: no further batch begins.
    is_stopping: bool,
}

impl BulkQueue {
    /// Whether one more may begin.
    pub(super) fn has_room(&self) -> bool {
        self.queue.len() + self.beginning < MAX_JOBS
    }

    /// A bulk operation is on its way to the disk.
    pub(super) const fn begin(&mut self) {
        self.beginning += 1;
    }

    /// A bulk operation is no longer on its way to the disk.
    pub(super) const fn end_begin(&mut self) {
        self.beginning -= 1;
    }

    /// A bulk operation is on disk: it runs after the others.
    pub(super) fn push(&mut self, running: RunningBulkJob) {
        self.queue.push_back(running);
    }

    /// Whether to read a batch.
    pub(super) fn is_due(&self) -> bool {
        let first = self.queue.front();
        let is_wanted = first.is_some_and(|running| !running.is_stopping);
        is_wanted && !self.is_batch_in_flight
    }

    /// Reads the next batch of the first bulk operation. Returns its operations, which are in flight
    /// from now on.
    ///
    /// # Errors
    ///
    /// If the store cannot be read. A bulk operation that meets damage ends.
    pub(super) fn next_batch(
        &mut self,
        view: &LedgerView<impl Store>,
        sizes: Sizes,
        times: BatchTimes,
        is_in_flight: impl Fn(u64) -> bool,
    ) -> Result<Vec<Op>, StoreError> {
        let Some(running) = self.queue.front() else {
            return Ok(Vec::new());
        };
        let (batch, state) = match running.read_batch(view, sizes, times, is_in_flight) {
            Ok(batch) => {
                let state = match batch.cursor {
                    Some(_) => JobState::Running,
                    None => JobState::Done,
                };
                (batch, state)
            }
            Err(error) if error.is_damage() => {
                running.log_damage(&error);
                (BulkBatch::default(), JobState::Failed)
            }
            Err(error) => return Err(error),
        };
        self.is_batch_in_flight = true;
        Ok(running.ops_of(batch, state, times.now))
    }

    /// Ends a bulk operation after the batch that is on its way to the disk. Returns its end. `None`
    /// if it is not known.
    pub(super) fn stop(&mut self, job: u64, actor: Actor, now: u64) -> Option<Op> {
        let mut queue = self.queue.iter_mut();
        let running = queue.find(|running| running.id == job)?;
        running.is_stopping = true;
        Some(Op::AdvanceBulk(Box::new(BulkAdvance {
            job,
            cursor: Box::default(),
            state: JobState::Stopped,
            at: now,
            actor,
        })))
    }

    /// A task of the first one was changed on disk.
    pub(super) fn count_change(&mut self) {
        if let Some(running) = self.queue.front_mut() {
            running.changed += 1;
        }
    }

    /// A batch of the first bulk operation is on disk, or the end of any of them. `is_moved` is false
    /// if it had ended before.
    pub(super) fn advance(&mut self, advance: BulkAdvance, is_moved: bool) {
        if advance.state != JobState::Stopped {
            self.is_batch_in_flight = false;
        }
        if advance.state == JobState::Running && is_moved {
            if let Some(running) = self.queue.front_mut() {
                running.cursor = advance.cursor;
            }
        } else if let Some(running) = self.remove(advance.job) {
            running.log_end(&advance);
        }
    }

    fn remove(&mut self, job: u64) -> Option<RunningBulkJob> {
        let place = self.queue.iter().position(|running| running.id == job)?;
        self.queue.remove(place)
    }
}

impl RunningBulkJob {
    /// Continues a bulk operation as it is stored.
    #[must_use]
    pub fn from_stored(id: u64, job: &BulkJob) -> Self {
        Self {
            id,
            act: job.act(),
            route: (&*job.route).into(),
            filter: job.filter(),
            in_flight: job.in_flight,
            cursor: job.cursor.clone(),
            changed: job.changed,
            is_stopping: false,
        }
    }

    /// Returns the operations of a batch: the changes, and then where the next batch begins.
    fn ops_of(&self, batch: BulkBatch, state: JobState, now: u64) -> Vec<Op> {
        let changes = batch.tasks.into_iter().map(|(id, seq, act)| {
            Op::Sweep(Sweep {
                job: Some(self.id),
                route: self.route.clone(),
                id,
                seq,
                act,
            })
        });
        let advance = BulkAdvance {
            job: self.id,
            cursor: batch.cursor.unwrap_or_default(),
            state,
            at: now,
            actor: Actor::default(),
        };
        let advance = Op::AdvanceBulk(Box::new(advance));
        changes.chain([advance]).collect()
    }

    fn log_damage(&self, error: &StoreError) {
        let (job, route) = (self.id, &self.route);
        tracing::error!(
            target: TARGET,
            job,
            %route,
            %error,
            "a bulk operation has met damage and ends",
        );
    }

    fn log_end(&self, advance: &BulkAdvance) {
        let (job, route, act) = (self.id, &*self.route, advance.state.as_str());
        let (by, address) = (advance.actor.by.as_deref(), advance.actor.address);
        let address = address.map(tracing::field::display);
        let (filter, moved) = (&self.filter, self.act.task_move());
        tracing::info!(
            target: AUDIT_TARGET,
            act,
            route,
            job,
            tasks = self.changed,
            reason = filter.reason.as_deref(),
            from = filter.from,
            until = filter.until,
            in_flight = self.in_flight,
            task_state = moved.and_then(|moved| moved.state).map(TaskState::as_str),
            due = moved.and_then(BulkMove::due),
            shift_ms = moved.and_then(BulkMove::shift_ms),
            by,
            address,
            "audit: a bulk operation has ended"
        );
    }
}

#[cfg(test)]
mod tests;
