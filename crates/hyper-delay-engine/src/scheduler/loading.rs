//! Reads tasks from disk: those of the near future, and parked ones of routes with consumers.

use std::{ops::ControlFlow, sync::Arc};

use super::{
    Scheduler,
    horizon::PositionRange,
    task::{DueBy, TaskInMemory},
};
use crate::ledger::{ListedTask, Position};
use hyper_delay_store::{Store, StoreError};

/// The maximum number of waiting tasks that one read returns, so that other work is not delayed.
const WAITING: usize = 1024;

/// The maximum number of parked tasks that one read returns.
const PARKED: usize = 512;

impl<S: Store> Scheduler<S> {
    /// Whether a task at that position belongs in memory.
    pub(super) fn is_in_window(&self, position: Position) -> bool {
        position < self.window_end() || self.horizon.has_read(position)
    }

    fn window_end(&self) -> Position {
        let now = self.now.wall_millis();
        Position::start_of(now.saturating_add(self.settings.window_millis))
    }

    /// Arms a task's timer; evicts the later half of the waiting tasks if there are too many.
    pub(super) fn wait(&mut self, seq: u64, task: TaskInMemory, due: DueBy) {
        self.tasks
            .insert_waiting(seq, task, due, self.now, &mut self.timers);
        if self.tasks.waiting() > self.settings.window_tasks
            && let Some(first) = self.tasks.evict_later_half(&mut self.timers)
        {
            self.horizon.move_back(first);
        }
    }

    /// Whether there is something to read. The tasks that were overdue at the start need no room
    /// among the waiting ones: each is queued or parked at once.
    pub(super) fn has_more_to_read(&self) -> bool {
        let has_overdue = self.horizon.overdue().is_some();
        !self.commits.has_many_parks() && (has_overdue || self.wants_near_future())
    }

    fn wants_near_future(&self) -> bool {
        let has_room = self.tasks.waiting() <= self.settings.window_tasks / 2;
        let window = self.settings.window_millis;
        self.horizon.wants_near_future(self.now, window, has_room)
    }

    /// Reads a part of the near future, and a part of what was overdue at the start.
    pub(super) fn read(&mut self) {
        if self.has_more_to_read()
            && let Err(error) = self.try_read()
        {
            self.fail(error);
        }
    }

    fn try_read(&mut self) -> Result<(), StoreError> {
        if self.wants_near_future()
            && let Some(range) = self.horizon.unread(self.window_end())
        {
            let part = self.read_part(range)?;
            self.horizon.read(part.to, part.has_more);
            self.load(part.tasks);
        }
        if let Some(range) = self.horizon.overdue() {
            let part = self.read_part(range)?;
            self.horizon.read_overdue(part.to);
            self.load(part.tasks);
        }
        Ok(())
    }

    fn read_part(&self, range: PositionRange) -> Result<WaitingPage, StoreError> {
        let mut part = WaitingPage {
            tasks: Vec::new(),
            to: range.to,
            has_more: false,
        };
        self.view.waiting(range.from, |listed| {
            if listed.position >= range.to || part.tasks.len() == WAITING {
                part.has_more = true;
                part.to = range.to.min(listed.position);
                return ControlFlow::Break(());
            }
            part.tasks.push(listed);
            ControlFlow::Continue(())
        })?;
        Ok(part)
    }

    /// Takes what was read into memory. The horizon has moved already, so that it can move back if
    /// there is no room for all.
    fn load(&mut self, tasks: Vec<ListedTask>) {
        for listed in tasks {
            let (seq, task) = TaskInMemory::from_waiting(listed);
            if !self.tasks.contains(seq) {
                self.insert_loaded(seq, task);
            }
        }
    }

    /// A task that waits on disk comes into memory.
    pub(super) fn insert_loaded(&mut self, seq: u64, task: TaskInMemory) {
        if task.at <= self.now.wall_millis() {
            self.tasks.insert_due(seq, task);
            self.offer(seq);
        } else {
            self.wait(seq, task, DueBy::Wall);
        }
    }

    /// Reads parked tasks of the routes that may have room for them.
    pub(super) fn refill_requested(&mut self) {
        for route in self.routes.take_refill_requests() {
            self.refill(&route);
        }
    }

    /// Reads parked tasks of a route, if there is room for them. If there may be more, other routes
    /// come first.
    pub(super) fn refill(&mut self, name: &Arc<str>) {
        if self.is_shutting_down {
            return;
        }
        match self.try_refill(name) {
            Ok(true) => self.routes.request_refill(name.clone()),
            Ok(false) => {}
            Err(error) => self.fail(error),
        }
    }

    /// Returns whether there was room, and there may be more.
    fn try_refill(&mut self, name: &Arc<str>) -> Result<bool, StoreError> {
        if self.paused.contains(name) {
            return Ok(false);
        }
        let Some(route) = self.routes.get_mut(name) else {
            return Ok(false);
        };
        let ready = self.settings.ready;
        let Some(from) = route.backlog().filter(|_| route.wants_parked(ready)) else {
            return Ok(false);
        };
        // All routes together have at most twice the window in memory, and one task each.
        let least = usize::from(route.queued() == 0);
        let room = (2 * self.settings.window_tasks).saturating_sub(self.tasks.len());
        let most = (ready - route.queued()).min(PARKED).min(room.max(least));
        if most == 0 {
            return Ok(false);
        }
        let mut found = Vec::new();
        self.view.parked(name, from, |listed| {
            found.push(listed);
            match found.len() < most {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        let last = found.last().filter(|_| found.len() == most);
        let backlog = last.map(|last| last.position.next());
        route.set_backlog(backlog);
        let inherits = !self.inherited.is_empty();
        let mut inherited = Vec::new();
        for listed in found {
            let position = listed.position;
            let (seq, task) = TaskInMemory::from_parked(listed);
            if self.tasks.insert_ready(seq, task) {
                route.queue(position);
                if inherits {
                    inherited.push(position.seq);
                }
            }
        }
        for seq in inherited {
            self.claim_inherited(seq);
        }
        self.dispatch(name);
        Ok(backlog.is_some())
    }
}

/// The result of one read of waiting tasks.
struct WaitingPage {
    tasks: Vec<ListedTask>,
    /// The position before which all tasks of the range were read.
    to: Position,
    /// Whether the range has more tasks.
    has_more: bool,
}
