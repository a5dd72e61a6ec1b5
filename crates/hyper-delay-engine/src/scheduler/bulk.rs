//! Bulk operations: every dead letter that matches, or every task of a route.
//!
//! They run one after another, in batches: the tasks of a batch are read, their operations are
//! submitted together with the place where the next batch begins, and nothing more is read until
//! they are on disk. Other requests are handled between the batches. The ledger counts each task in
//! the batch that changes it, and a task that is gone counts for nothing: a batch that is repeated
//! after a crash changes only what the first try did not.

use std::{collections::VecDeque, ops::ControlFlow, sync::Arc};

use super::{
    CommitToken, RequestId, Scheduler, operator_requests::AUDIT_TARGET, task::TaskInMemory,
};
use crate::{
    ledger::{Actor, BulkAdvance, ListingQuery, Op, Outcome, Sweep, SweepAct},
    sizes::{Size, Sizes},
};
use hyper_delay_protocol::{Filter, Reply};
use hyper_delay_store::{
    Space, Store, StoreError,
    record::{BulkJob, JobAction, JobState, Place},
};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::scheduler::bulk";

/// The most keys that one batch reads.
const fn keys_of(sizes: Sizes) -> usize {
    4 * sizes.bulk_tasks
}

/// The bulk operations that are not done.
#[derive(Debug, Default)]
pub(super) struct BulkQueue {
    queue: VecDeque<RunningBulkJob>,
    /// Whether a batch of the first one is on its way to the disk.
    is_batch_in_flight: bool,
}

/// A running bulk operation.
#[derive(Debug, Clone)]
pub struct RunningBulkJob {
    id: u64,
    act: JobAction,
    route: Arc<str>,
    filter: Filter,
    in_flight: bool,
    /// The key or the id after which it continues. Empty at the start.
    cursor: Box<[u8]>,
    /// Number of tasks that were kicked or removed so far.
    changed: u64,
    /// Its end is on its way to the disk: no further batch begins.
    is_stopping: bool,
}

impl RunningBulkJob {
    /// Continues a bulk operation as it is stored.
    pub fn from_stored(id: u64, job: &BulkJob) -> Self {
        Self {
            id,
            act: job.act,
            route: (&*job.route).into(),
            filter: Filter {
                reason: job.reason.as_deref().map(Arc::from),
                from: job.from,
                until: job.until,
            },
            in_flight: job.in_flight,
            cursor: job.cursor.clone(),
            changed: job.changed,
            is_stopping: false,
        }
    }
}

/// The next batch of a bulk operation.
#[derive(Debug, Default)]
struct BulkBatch {
    tasks: Vec<(Arc<str>, u64, SweepAct)>,
    /// Where the one after it begins. `None` if there is none.
    cursor: Option<Box<[u8]>>,
}

impl BulkQueue {
    /// The number of bulk operations that are not done.
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn push(&mut self, running: RunningBulkJob) {
        self.queue.push_back(running);
    }

    /// Begins no further batch of a bulk operation. Returns whether it is not done.
    fn stop(&mut self, id: u64) -> bool {
        let mut queue = self.queue.iter_mut();
        let running = queue.find(|running| running.id == id);
        running.is_some_and(|running| {
            running.is_stopping = true;
            true
        })
    }

    /// Removes a bulk operation that has ended.
    fn remove(&mut self, id: u64) -> Option<RunningBulkJob> {
        let place = self.queue.iter().position(|running| running.id == id)?;
        self.queue.remove(place)
    }
}

impl<S: Store> Scheduler<S> {
    /// Whether to read a batch of a bulk operation.
    pub(super) fn wants_bulk(&self) -> bool {
        let first = self.bulk.queue.front();
        let is_wanted = first.is_some_and(|running| !running.is_stopping);
        is_wanted && !self.bulk.is_batch_in_flight && self.may_sweep()
    }

    /// Reads and submits the next batch of the first bulk operation.
    pub(super) fn continue_bulk(&mut self) {
        if !self.wants_bulk() {
            return;
        }
        let Some(running) = self.bulk.queue.front().cloned() else {
            return;
        };
        let (batch, state) = match self.bulk_batch(&running) {
            Ok(batch) => {
                let state = match batch.cursor {
                    Some(_) => JobState::Running,
                    None => JobState::Done,
                };
                (batch, state)
            }
            Err(error) if error.is_damage() => {
                let (job, route) = (running.id, &running.route);
                tracing::error!(
                    target: TARGET,
                    job,
                    %route,
                    %error,
                    "a bulk operation has met damage and ends",
                );
                (BulkBatch::default(), JobState::Failed)
            }
            Err(error) => return self.fail(error),
        };
        for (id, seq, act) in batch.tasks {
            let sweep = Sweep {
                job: Some(running.id),
                route: running.route.clone(),
                id,
                seq,
                act,
            };
            self.submit(Op::Sweep(sweep), CommitToken::None);
        }
        let advance = BulkAdvance {
            job: running.id,
            cursor: batch.cursor.unwrap_or_default(),
            state,
            at: self.now.wall_millis(),
            actor: Actor::default(),
        };
        self.bulk.is_batch_in_flight = true;
        self.submit(Op::AdvanceBulk(Box::new(advance)), CommitToken::None);
    }

    /// Ends a bulk operation after the batch that is on its way to the disk. The reply comes when that
    /// is on disk, so that a crash cannot undo it.
    pub(super) fn stop_bulk(&mut self, job: u64, actor: Actor, reply_to: RequestId) {
        if !self.bulk.stop(job) {
            return self.reply(reply_to, Reply::Stopped { job, found: false });
        }
        let advance = BulkAdvance {
            job,
            cursor: Box::default(),
            state: JobState::Stopped,
            at: self.now.wall_millis(),
            actor,
        };
        self.submit(
            Op::AdvanceBulk(Box::new(advance)),
            CommitToken::Reply(reply_to),
        );
    }

    fn bulk_batch(&self, running: &RunningBulkJob) -> Result<BulkBatch, StoreError> {
        match running.act {
            JobAction::Kick | JobAction::Delete => self.dead_batch(running),
            JobAction::Purge => self.purge_batch(running),
        }
    }

    /// Tasks that were scheduled after the bulk operation have higher numbers. Their deaths can
    /// have earlier times, if the clock was set back.
    fn dead_batch(&self, running: &RunningBulkJob) -> Result<BulkBatch, StoreError> {
        let now = self.now.wall_millis();
        let sizes = self.settings.sizes;
        let listing = ListingQuery {
            space: Space::Dead,
            route: Some(&running.route),
            filter: &running.filter,
            after: Some(&*running.cursor).filter(|cursor| !cursor.is_empty()),
        };
        let page = self.view.list(&listing, sizes.bulk_tasks, keys_of(sizes))?;
        let rows = page.rows.into_iter();
        let tasks = rows.filter(|row| row.position.seq < running.id).map(|row| {
            let place = Place::Dead(row.position.at);
            let act = match running.act {
                JobAction::Kick => SweepAct::Kick { place, at: now },
                _ => SweepAct::Delete { place },
            };
            (row.id, row.position.seq, act)
        });
        if page.next.is_some() {
            (sizes.reached)(Size::BulkTasks);
        }
        Ok(BulkBatch {
            tasks: tasks.collect(),
            cursor: page.next.map(|(key, _)| (&*key).into()),
        })
    }

    /// As for dead letters, later tasks have higher numbers.
    fn purge_batch(&self, running: &RunningBulkJob) -> Result<BulkBatch, StoreError> {
        let after = std::str::from_utf8(&running.cursor)
            .map_err(|error| StoreError::damage("read the cursor of a job", error))?;
        let sizes = self.settings.sizes;
        let mut batch = BulkBatch::default();
        let mut read = 0;
        let after = Some(after).filter(|after| !after.is_empty());
        self.view.names(&running.route, after, |id, name| {
            read += 1;
            // An earlier leader can have sent a copy of a dead letter.
            let is_dead = matches!(name.place, Place::Dead(_));
            let is_in_flight =
                !is_dead && (self.tasks.round(name.seq).is_some() || self.is_inherited(name.seq));
            if name.seq < running.id && (running.in_flight || !is_in_flight) {
                batch.tasks.push((id.into(), name.seq, SweepAct::Purge));
            }
            if batch.tasks.len() < sizes.bulk_tasks && read < keys_of(sizes) {
                return ControlFlow::Continue(());
            }
            (sizes.reached)(Size::BulkTasks);
            batch.cursor = Some(id.as_bytes().into());
            ControlFlow::Break(())
        })?;
        Ok(batch)
    }

    /// One of many tasks is changed on disk.
    pub(super) fn handle_swept(&mut self, sweep: Sweep, outcome: Outcome) {
        if sweep.job.is_none() {
            return self.handle_old_dead_removed(sweep, &outcome);
        }
        let is_changed = matches!(
            outcome,
            Outcome::Kicked(Some(_)) | Outcome::Cancelled(Some(_))
        );
        if let Some(running) = self.bulk.queue.front_mut().filter(|_| is_changed) {
            running.changed += 1;
        }
        match (sweep.act, outcome) {
            (SweepAct::Kick { at, .. }, Outcome::Kicked(Some(kicked))) => {
                self.add_task(
                    kicked.seq,
                    TaskInMemory::from_kicked(sweep.route, sweep.id, at, kicked),
                );
            }
            (_, Outcome::Cancelled(Some(seq))) => {
                self.remove_task(seq);
            }
            _ => {}
        }
    }

    /// A batch of the first bulk operation is on disk, or the end of any of them.
    pub(super) fn handle_advanced(
        &mut self,
        advance: BulkAdvance,
        outcome: Outcome,
        token: CommitToken,
    ) {
        let is_stop = advance.state == JobState::Stopped;
        let is_moved = outcome == Outcome::Applied(true);
        if !is_stop {
            self.bulk.is_batch_in_flight = false;
        }
        self.reply_to_token(token, || Reply::Stopped {
            job: advance.job,
            found: is_moved,
        });
        if advance.state != JobState::Running || !is_moved {
            if let Some(running) = self.bulk.remove(advance.job) {
                let (job, route, act) = (running.id, &*running.route, advance.state.as_str());
                let (by, address) = (advance.actor.by.as_deref(), advance.actor.address);
                let address = address.map(tracing::field::display);
                let filter = &running.filter;
                tracing::info!(
                    target: AUDIT_TARGET,
                    act,
                    route,
                    job,
                    tasks = running.changed,
                    reason = filter.reason.as_deref(),
                    from = filter.from,
                    until = filter.until,
                    in_flight = running.in_flight,
                    by,
                    address,
                    "audit: a bulk operation has ended"
                );
            }
        } else if let Some(running) = self.bulk.queue.front_mut() {
            running.cursor = advance.cursor;
        }
    }
}
