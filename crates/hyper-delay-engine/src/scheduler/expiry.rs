//! Tasks that are removed because their time has passed.
//!
//! The index on disk lists the tasks that expire by time. It is read from where the last read ended
//! once the next time in it has come. A task in flight is left: it expires when its round fails, or
//! when the copies end that an earlier leader has sent.

use std::ops::ControlFlow;

use race_wheel::Tick;

use super::{
    CommitToken, Scheduler,
    removal_log::RemovalLog,
    task::{PendingChange, TaskInMemory},
    task_table::PreviousState,
};
use crate::ledger::{Op, Position, TaskRevision, TimedTask};
use hyper_delay_store::Store;

/// The most tasks that one read removes, so that other work is not delayed.
const TASKS: usize = 512;

/// The number of removals in flight above which reading waits for the committer.
const MAX_REMOVALS_IN_FLIGHT: usize = 16 * TASKS;

/// The position up to which the index was read.
#[derive(Debug)]
pub(super) struct Expiry {
    /// The tasks before this position were looked at.
    from: Position,
    /// The earliest time that was not looked at, in Unix milliseconds. `None` if there is none.
    next: Option<u64>,
    /// Removals that are not on disk.
    removals_in_flight: usize,
    log: RemovalLog,
}

impl Default for Expiry {
    fn default() -> Self {
        Self {
            from: Position::default(),
            next: Some(0),
            removals_in_flight: 0,
            log: RemovalLog::default(),
        }
    }
}

impl Expiry {
    /// A task is on disk, and not in flight, that expires at this time (Unix milliseconds).
    pub(super) fn add(&mut self, at: u64) {
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
        self.from = self.from.min(Position::start_of(at));
    }

    /// When there is something to read, in Unix milliseconds. `None` if nothing is read before the
    /// committer reports.
    fn next(&self) -> Option<u64> {
        self.next
            .filter(|_| self.removals_in_flight < MAX_REMOVALS_IN_FLIGHT)
    }
}

impl<S: Store> Scheduler<S> {
    /// Whether to read the index now.
    pub(super) fn wants_expiry(&self) -> bool {
        let now = self.now.wall_millis();
        let is_due = self.expiry.next.is_some_and(|next| next <= now);
        is_due && self.may_remove() && self.expiry.removals_in_flight < MAX_REMOVALS_IN_FLIGHT
    }

    /// When there is something to read, in Unix milliseconds. `None` if nothing is read before the
    /// committer reports, or before it is known what is in flight.
    pub(super) fn next_expiry(&self) -> Option<u64> {
        self.expiry.next().filter(|_| self.may_remove())
    }

    /// Removes tasks whose time has passed.
    pub(super) fn expire_tasks(&mut self) {
        if !self.wants_expiry() {
            return;
        }
        let now = self.now.wall_millis();
        let mut found = Vec::new();
        let mut next = None;
        let read = self.view.expiring(self.expiry.from, |expires| {
            if expires.position.at > now || found.len() == TASKS {
                next = Some(expires.position.at);
                return ControlFlow::Break(());
            }
            found.push(expires);
            ControlFlow::Continue(())
        });
        if let Err(error) = read {
            return self.fail(error);
        }
        self.expiry.from = match found.last() {
            Some(last) if found.len() == TASKS => last.position.next(),
            _ => Position::start_of(now.saturating_add(1)),
        };
        self.expiry.next = next;
        for expires in found {
            let Position { at, seq } = expires.position;
            if self.tasks.round(seq).is_some() {
                continue;
            }
            if self.is_inherited(seq) {
                self.takeover.inherited.set_expired(seq, at);
            } else {
                self.remove_expired(expires);
            }
        }
    }

    /// The copies that an earlier leader has sent of a task that is not loaded have ended.
    pub(super) fn end_inherited(&mut self, seq: u64) {
        if let Some(at) = self.takeover.inherited.remove_ended(seq) {
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

    /// Writes what was removed into the log. Returns when to call this again.
    pub(super) fn log_expired(&mut self) -> Option<Tick> {
        let what = "tasks have expired and are removed";
        self.expiry.log.write(self.now, what)
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
        let attempt = self.tasks.get(seq).map_or(0, |task| task.attempt);
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
        self.expiry.removals_in_flight += 1;
        self.submit(Op::Expire { revision, at }, CommitToken::None);
    }

    /// The removal of an expired task is on disk. `removed` is false if it was gone before.
    pub(super) fn handle_expired(&mut self, revision: TaskRevision, removed: bool) {
        self.expiry.removals_in_flight -= 1;
        if self.tasks.pending_change(revision.seq) == Some(PendingChange::Expire) || removed {
            self.remove_task(revision.seq);
        }
        if removed {
            self.metrics.expired.add(1);
            self.expiry.log.add(revision.route, revision.id);
        }
    }
}
