//! Removes tasks that no request names: those whose time has passed, and dead letters because of
//! their age.
//!
//! A task in flight stays: it expires when its round fails, or when the copies end that an earlier
//! leader has sent.

use race_wheel::Tick;

use super::{
    CommitToken, Scheduler,
    task::{PendingChange, TaskInMemory},
    task_table::PreviousState,
};
use crate::ledger::{Op, Outcome, Position, Sweep, TaskRevision, TimedTask};
use hyper_delay_store::Store;

impl<S: Store> Scheduler<S> {
    /// Whether there is something to remove now.
    pub(super) fn wants_removal(&self) -> bool {
        let is_expiry_due = self.may_remove() && self.expiry.is_due(self.now);
        let is_pass_due = || self.retention.is_due(self.now);
        is_expiry_due || self.dead_retention().is_some_and(|_| is_pass_due())
    }

    /// When there is something to remove. `None` if nothing is read before the committer reports,
    /// or before it is known what is in flight.
    pub(super) fn next_removal(&self) -> Option<Tick> {
        let expiry = self.expiry.next().filter(|_| self.may_remove());
        let expiry = expiry.map(|at| self.now.tick_of(at));
        let pass = self.dead_retention();
        let pass = pass.and_then(|_| self.retention.next_pass(self.now));
        [expiry, pass].into_iter().flatten().min()
    }

    /// The retention of dead letters in milliseconds, if there is one and they may be read now.
    fn dead_retention(&self) -> Option<u64> {
        let retention = self.settings.dead_retention_millis;
        retention.filter(|_| self.may_sweep())
    }

    /// Whether many tasks may be read to be changed: it is known which are in flight, and few are on
    /// their way to be parked.
    pub(super) fn may_sweep(&self) -> bool {
        self.may_remove() && !self.commits.has_many_parks()
    }

    /// Removes tasks whose time has passed.
    pub(super) fn expire_tasks(&mut self) {
        if !self.may_remove() || !self.expiry.is_due(self.now) {
            return;
        }
        let found = match self.expiry.read(&self.view, self.now) {
            Ok(found) => found,
            Err(error) => return self.fail(error),
        };
        for expires in found {
            let Position { at, seq } = expires.position;
            if self.tasks.round(seq).is_some() {
                continue;
            }
            if !self
                .inherited
                .set_expired(seq, at, self.now.monotonic, &self.consumers)
            {
                self.remove_expired(expires);
            }
        }
    }

    /// The copies that an earlier leader has sent of a task that is not loaded have ended.
    pub(super) fn end_inherited(&mut self, seq: u64) {
        if let Some(at) = self.inherited.remove_ended(seq) {
            self.expiry.add(at);
        }
    }

    /// A task is due whose round has ended without a failure. It may have expired meanwhile.
    pub(super) fn offer_again(&mut self, seq: u64) {
        if let Some(at) = self.tasks.get(seq).and_then(TaskInMemory::expires_at) {
            self.expiry.add(at);
        }
        self.offer(seq);
    }

    /// A task in memory has expired.
    pub(super) fn expire_task(&mut self, seq: u64) {
        let Some(task) = self.tasks.get(seq) else {
            return;
        };
        let Some(at) = task.expires_at() else {
            return;
        };
        let (route, id) = (task.route.clone(), task.id.clone());
        let position = Position { at, seq };
        self.remove_expired(TimedTask {
            position,
            route,
            id,
        });
    }

    fn remove_expired(&mut self, expires: TimedTask) {
        let Position { at, seq } = expires.position;
        let attempt = self.tasks.get(seq).map_or(0, TaskInMemory::attempt);
        // A change in flight reaches the disk before this one.
        if self.tasks.pending_change(seq).is_none() {
            let left = self
                .tasks
                .commit(seq, PendingChange::Expire, &mut self.timers);
            if let Some(PreviousState::Ready) = left {
                self.unqueue(seq);
            }
        }
        let revision = TaskRevision {
            route: expires.route,
            id: expires.id,
            seq,
            attempt,
        };
        self.expiry.begin_removal();
        self.submit(Op::Expire { revision, at }, CommitToken::None);
    }

    /// The removal of an expired task is on disk. `removed` is false if it was gone before.
    pub(super) fn handle_expired(&mut self, revision: TaskRevision, removed: bool) {
        if self.tasks.pending_change(revision.seq) == Some(PendingChange::Expire) || removed {
            self.remove_task(revision.seq);
        }
        self.metrics.expired.add(u64::from(removed));
        self.expiry.end_removal(revision, removed);
    }

    /// Removes dead letters whose retention has ended.
    pub(super) fn remove_old_dead(&mut self) {
        let Some(retention) = self.dead_retention() else {
            return;
        };
        if !self.retention.is_due(self.now) {
            return;
        }
        let sizes = self.settings.sizes;
        match self.retention.read(&self.view, retention, sizes, self.now) {
            Ok(removals) => {
                for removal in removals {
                    self.submit(Op::Sweep(removal), CommitToken::None);
                }
            }
            Err(error) => self.fail(error),
        }
    }

    /// The removal of a dead letter because of its age is on disk.
    pub(super) fn handle_old_dead_removed(&mut self, sweep: Sweep, outcome: &Outcome) {
        let removed = matches!(outcome, Outcome::Cancelled(Some(_)));
        self.metrics.removed_by_age.add(u64::from(removed));
        self.retention.end_removal(sweep, removed);
    }
}
