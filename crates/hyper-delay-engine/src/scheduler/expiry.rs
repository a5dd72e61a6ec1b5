//! The index of the tasks that expire by time.
//!
//! It is on disk, and read from where the last read ended once the next time in it has come. While
//! many removals are in flight, nothing is read.

use std::ops::ControlFlow;

use race_wheel::Tick;

use super::removal_log::RemovalLog;
use crate::{
    clock::Now,
    ledger::{LedgerView, Position, TaskRevision, TimedTask},
};
use hyper_delay_store::{Store, StoreError};

/// The most tasks that one read returns, so that other work is not delayed.
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
    pub(super) fn next(&self) -> Option<u64> {
        self.next
            .filter(|_| self.removals_in_flight < MAX_REMOVALS_IN_FLIGHT)
    }

    /// Whether there is something to read now.
    pub(super) fn is_due(&self, now: Now) -> bool {
        self.next().is_some_and(|next| next <= now.wall_millis())
    }

    /// Reads the tasks whose time has passed since the last read, a bounded number of them.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(super) fn read(
        &mut self,
        view: &LedgerView<impl Store>,
        now: Now,
    ) -> Result<Vec<TimedTask>, StoreError> {
        let mut found = Vec::new();
        let mut next = None;
        view.expiring(self.from, |expires| {
            if expires.position.at > now.wall_millis() || found.len() == TASKS {
                next = Some(expires.position.at);
                return ControlFlow::Break(());
            }
            found.push(expires);
            ControlFlow::Continue(())
        })?;
        self.note_read(&found, next, now);
        Ok(found)
    }

    /// `found` was read, and the next task in the index expires at `next`.
    fn note_read(&mut self, found: &[TimedTask], next: Option<u64>, now: Now) {
        self.from = match found.last() {
            Some(last) if found.len() == TASKS => last.position.next(),
            _ => Position::start_of(now.wall_millis().saturating_add(1)),
        };
        self.next = next;
    }

    /// The removal of a task is on its way to the disk.
    pub(super) const fn begin_removal(&mut self) {
        self.removals_in_flight += 1;
    }

    /// The removal of a task is on disk. `removed` is false if the task was gone before.
    pub(super) fn end_removal(&mut self, revision: TaskRevision, removed: bool) {
        self.removals_in_flight -= 1;
        if removed {
            self.log.add(revision.route, revision.id);
        }
    }

    /// Writes what was removed into the log. Returns when to call this again.
    pub(super) fn write_log(&mut self, now: Now) -> Option<Tick> {
        self.log.write(now, "tasks have expired and are removed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(wall_millis: u64) -> Now {
        Now {
            wall_nanos: wall_millis * 1_000_000,
            monotonic: Tick::ZERO,
        }
    }

    fn expires(at: u64, seq: u64) -> TimedTask {
        TimedTask {
            position: Position { at, seq },
            route: "route".into(),
            id: "id".into(),
        }
    }

    #[test]
    fn the_index_is_read_again_when_its_next_time_has_come() {
        let mut expiry = Expiry::default();
        assert!(expiry.is_due(now(0)), "nothing was looked at");
        expiry.note_read(&[expires(90, 1)], Some(150), now(100));
        assert_eq!(expiry.from, Position::start_of(101));
        assert!(!expiry.is_due(now(149)) && expiry.is_due(now(150)));
        expiry.note_read(&[], None, now(150));
        assert_eq!(expiry.next(), None, "the index is empty");
        expiry.add(120);
        assert_eq!(
            (expiry.from, expiry.next()),
            (Position::start_of(120), Some(120))
        );
        expiry.add(130);
        assert_eq!(
            (expiry.from, expiry.next()),
            (Position::start_of(120), Some(120))
        );
    }

    #[test]
    fn a_full_read_continues_after_its_last_task() {
        let mut expiry = Expiry::default();
        let found: Vec<TimedTask> = (1..=TASKS as u64).map(|seq| expires(7, seq)).collect();
        expiry.note_read(&found, Some(7), now(100));
        let last = Position {
            at: 7,
            seq: TASKS as u64,
        };
        assert_eq!(expiry.from, last.next());
        assert!(expiry.is_due(now(100)));
    }

    #[test]
    fn nothing_is_read_while_too_many_removals_are_in_flight() {
        let mut expiry = Expiry::default();
        for _ in 0..MAX_REMOVALS_IN_FLIGHT {
            assert!(expiry.is_due(now(0)));
            expiry.begin_removal();
        }
        assert_eq!(expiry.next(), None);
        let revision = TaskRevision {
            route: "route".into(),
            id: "id".into(),
            seq: 1,
            attempt: 0,
        };
        expiry.end_removal(revision, false);
        assert!(expiry.is_due(now(0)));
        assert_eq!(expiry.write_log(now(0)), None);
    }
}
