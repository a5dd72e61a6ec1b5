//! The near future in memory.
//!
//! Waiting tasks are read from disk up to a *horizon*, a position in the order of time. Only the
//! scheduler moves it: it reads in chunks, and the horizon is where the last chunk ended. Every
//! commit is reported to the scheduler, which takes what is near. A task that arrives both ways is
//! known by its sequence number. So no task is missed: what was committed before a chunk was read
//! is in it, and what was committed after is reported after.

use std::ops::ControlFlow;

use crate::{
    clock::Now,
    ledger::{LedgerView, ListedTask, Position},
};
use hyper_delay_store::{Store, StoreError};

/// The maximum number of waiting tasks that one read returns, so that other work is not delayed.
const WAITING: usize = 1024;

/// The position up to which the waiting tasks were read, and the range to read next.
#[derive(Debug)]
pub(super) struct Horizon {
    /// Everything that waits before it has been read, from the start of the server on.
    at: Position,
    /// The rest of what was overdue when the server started. It is read beside the near future, so
    /// that a long list of overdue tasks delays no other.
    overdue: Option<PositionRange>,
    /// Whether there may be more on disk beyond the horizon.
    has_more: bool,
}

/// The near future, and whether there is room for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) now: Now,
    /// How long it lasts.
    pub(super) millis: u64,
    /// Whether there is room in memory for waiting tasks.
    pub(super) has_room: bool,
}

/// Positions from `from` on, up to and without `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PositionRange {
    pub(super) from: Position,
    pub(super) to: Position,
}

impl Horizon {
    /// Nothing is read yet, and nothing waits before `low_water` (Unix milliseconds).
    pub(super) fn new(low_water: u64, now: Now) -> Self {
        let start = Position::start_of(now.wall_millis().max(low_water));
        let from = Position::start_of(low_water);
        Self {
            at: start,
            overdue: (from < start).then_some(PositionRange { from, to: start }),
            has_more: true,
        }
    }

    /// Whether a position is before the horizon.
    pub(super) fn has_read(&self, position: Position) -> bool {
        position < self.at
    }

    /// Whether there may be tasks on disk beyond the horizon.
    pub(super) const fn has_more(&self) -> bool {
        self.has_more
    }

    /// A task was committed. Returns whether it belongs in memory; otherwise it is read later.
    #[inline]
    pub(super) fn admit(&mut self, position: Position, now: Now, window_millis: u64) -> bool {
        let is_near = position < window_end(now, window_millis) || self.has_read(position);
        self.has_more |= !is_near;
        is_near
    }

    /// The position from which on there may be tasks on disk that are not in memory.
    pub(super) fn unread_from(&self) -> Option<Position> {
        self.has_more.then_some(self.at)
    }

    /// The tasks from a position on were dropped from memory.
    pub(super) fn move_back(&mut self, to: Position) {
        self.at = self.at.min(to);
        self.has_more = true;
    }

    /// The time (Unix milliseconds) before which everything that waits on disk is in memory.
    pub(super) fn earliest_unread(&self) -> u64 {
        let overdue = self.overdue.map_or(u64::MAX, |range| range.from.at);
        self.at.at.min(overdue)
    }

    /// Whether there is something to read. The tasks that were overdue at the start need no room among
    /// the waiting ones: each is queued or parked at once.
    pub(super) fn has_more_to_read(&self, window: Window) -> bool {
        self.overdue.is_some() || self.wants_near_future(window.now, window.millis, window.has_room)
    }

    /// Reads a part of the near future, if that is wanted. The horizon moves, and can move back if
    /// there is no room for all.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(super) fn read_near_future(
        &mut self,
        view: &LedgerView<impl Store>,
        window: Window,
    ) -> Result<Vec<ListedTask>, StoreError> {
        let Window {
            now,
            millis,
            has_room,
        } = window;
        let unread = self.unread(window_end(now, millis));
        let Some(range) = unread.filter(|_| self.wants_near_future(now, millis, has_room)) else {
            return Ok(Vec::new());
        };
        let page = WaitingPage::read(view, range)?;
        self.read(page.to, page.has_more);
        Ok(page.tasks)
    }

    /// Reads a part of what was overdue at the start.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(super) fn read_more_overdue(
        &mut self,
        view: &LedgerView<impl Store>,
    ) -> Result<Vec<ListedTask>, StoreError> {
        let Some(range) = self.overdue else {
            return Ok(Vec::new());
        };
        let page = WaitingPage::read(view, range)?;
        self.read_overdue(page.to);
        Ok(page.tasks)
    }

    /// Whether to read the near future: in advance if there is room in memory, and in any case if
    /// the horizon has come.
    fn wants_near_future(&self, now: Now, window_millis: u64, has_room: bool) -> bool {
        let now = now.wall_millis();
        let soon = now.saturating_add(window_millis / 2);
        let is_late = self.has_more && self.at.at <= now;
        let is_behind = self.has_more && self.at.at < soon;
        is_late || has_room && is_behind
    }

    /// Returns the unread range of the near future, which ends at `near`.
    fn unread(&self, near: Position) -> Option<PositionRange> {
        let range = PositionRange {
            from: self.at,
            to: near,
        };
        (self.has_more && range.from < range.to).then_some(range)
    }

    /// Returns the unread range of the tasks that were overdue at the start.
    pub(super) const fn overdue(&self) -> Option<PositionRange> {
        self.overdue
    }

    /// A part of [`unread`](Self::unread) was read, up to `to`.
    const fn read(&mut self, to: Position, has_more: bool) {
        self.at = to;
        self.has_more = has_more;
    }

    /// A part of [`overdue`](Self::overdue) was read, up to `to`.
    fn read_overdue(&mut self, to: Position) {
        self.overdue = self.overdue.and_then(|range| {
            let rest = PositionRange { from: to, ..range };
            (rest.from < rest.to).then_some(rest)
        });
    }
}

/// The end of the near future.
fn window_end(now: Now, window_millis: u64) -> Position {
    Position::start_of(now.wall_millis().saturating_add(window_millis))
}

/// The result of one read of waiting tasks.
struct WaitingPage {
    tasks: Vec<ListedTask>,
    /// The position before which all tasks of the range were read.
    to: Position,
    /// Whether the range has more tasks.
    has_more: bool,
}

impl WaitingPage {
    fn read(view: &LedgerView<impl Store>, range: PositionRange) -> Result<Self, StoreError> {
        let mut page = Self {
            tasks: Vec::new(),
            to: range.to,
            has_more: false,
        };
        view.waiting(range.from, |listed| {
            if listed.position >= range.to || page.tasks.len() == WAITING {
                page.has_more = true;
                page.to = range.to.min(listed.position);
                return ControlFlow::Break(());
            }
            page.tasks.push(listed);
            ControlFlow::Continue(())
        })?;
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use race_wheel::Tick;

    use super::*;
    use crate::scheduler::tests::stored_tasks::StoredTasks;
    use hyper_delay_protocol::Terms;

    fn now(wall_millis: u64) -> Now {
        Now {
            wall_nanos: wall_millis * 1_000_000,
            monotonic: Tick::ZERO,
        }
    }

    const fn position(at: u64) -> Position {
        Position::start_of(at)
    }

    #[test]
    fn what_was_overdue_at_the_start_is_read_beside_the_near_future() {
        let mut horizon = Horizon::new(100, now(500));
        assert_eq!(horizon.earliest_unread(), 100);
        let near = position(900);
        let unread = horizon.unread(near).unwrap();
        assert_eq!((unread.from, unread.to), (position(500), near));
        let overdue = horizon.overdue().unwrap();
        assert_eq!((overdue.from, overdue.to), (position(100), position(500)));
        horizon.read_overdue(position(300));
        assert_eq!(horizon.earliest_unread(), 300);
        horizon.read_overdue(position(500));
        assert_eq!((horizon.overdue(), horizon.earliest_unread()), (None, 500));
    }

    #[test]
    fn it_reads_in_advance_only_with_room_and_at_once_when_it_is_late() {
        let mut horizon = Horizon::new(500, now(500));
        horizon.read(position(700), true);
        assert!(
            !horizon.wants_near_future(now(500), 400, true),
            "half of the window is read"
        );
        assert!(horizon.wants_near_future(now(501), 400, true));
        assert!(!horizon.wants_near_future(now(501), 400, false));
        assert!(horizon.wants_near_future(now(700), 400, false));
        horizon.read(position(900), false);
        assert!(
            !horizon.wants_near_future(now(5000), 400, true),
            "there is no more"
        );
        horizon.move_back(position(800));
        assert!(horizon.wants_near_future(now(5000), 400, true));
        assert!(horizon.has_read(position(799)) && !horizon.has_read(position(800)));
    }

    #[test]
    fn a_task_that_is_not_near_is_read_later() {
        let mut horizon = Horizon::new(500, now(500));
        horizon.read(position(700), false);
        assert!(horizon.admit(position(899), now(500), 400));
        assert_eq!(horizon.unread_from(), None);
        assert!(!horizon.admit(position(900), now(500), 400));
        assert_eq!(horizon.unread_from(), Some(position(700)));
        horizon.read(position(1_000), true);
        assert!(
            horizon.admit(position(999), now(500), 400),
            "the others were read"
        );
    }

    #[test]
    fn what_is_on_disk_is_read_once() {
        let mut stored = StoredTasks::new();
        for (id, at) in [("overdue", 200), ("near", 600), ("far", 900)] {
            stored.schedule(id, at, Terms::default());
        }
        let (view, mut horizon) = (stored.view(), Horizon::new(100, now(500)));
        let window = |now| Window {
            now,
            millis: 400,
            has_room: true,
        };
        let ids = |tasks: Vec<ListedTask>| -> Vec<String> {
            tasks.iter().map(|task| task.id.to_string()).collect()
        };
        let near = horizon.read_near_future(&view, window(now(500))).unwrap();
        assert_eq!(ids(near), ["near"]);
        assert_eq!(ids(horizon.read_more_overdue(&view).unwrap()), ["overdue"]);
        assert!(!horizon.has_more_to_read(window(now(500))));
        assert_eq!(ids(horizon.read_more_overdue(&view).unwrap()), [""; 0]);
        assert!(horizon.has_more_to_read(window(now(701))), "far comes near");
        let near = horizon.read_near_future(&view, window(now(701))).unwrap();
        assert_eq!(ids(near), ["far"]);
        assert_eq!(horizon.unread_from(), None);
    }
}
