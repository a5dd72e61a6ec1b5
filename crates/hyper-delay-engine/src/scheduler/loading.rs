//! Reads tasks from disk: those of the near future, and parked ones of routes with consumers.

use std::sync::Arc;

use super::{
    Scheduler,
    horizon::Window,
    task::{DueBy, TaskInMemory},
};
use crate::ledger::ListedTask;
use hyper_delay_store::{Store, StoreError};

impl<S: Store> Scheduler<S> {
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

    /// Whether there is something to read.
    pub(super) fn has_more_to_read(&self) -> bool {
        !self.commits.has_many_parks() && self.horizon.has_more_to_read(self.window())
    }

    fn window(&self) -> Window {
        Window {
            now: self.now,
            millis: self.settings.window_millis,
            has_room: self.tasks.waiting() <= self.settings.window_tasks / 2,
        }
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
        let window = self.window();
        let near = self.horizon.read_near_future(&self.view, window)?;
        self.load(near);
        let overdue = self.horizon.read_more_overdue(&self.view)?;
        self.load(overdue);
        Ok(())
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
        if task.at() <= self.now.wall_millis() {
            self.tasks.insert_due(seq, task);
            self.offer(seq);
        } else {
            self.wait(seq, task, DueBy::Wall);
        }
    }

    /// Reads parked tasks of the routes that may have room for them. The memory's room goes first to
    /// those that have waited for it.
    pub(super) fn refill_requested(&mut self) {
        while self.has_memory_for_waiting_route()
            && let Some(route) = self.routes.next_waiting_for_memory()
        {
            self.refill(&route);
        }
        for route in self.routes.take_refill_requests() {
            self.refill(&route);
        }
    }

    /// Whether a route may read parked tasks now.
    pub(super) fn has_route_to_refill(&self) -> bool {
        self.routes.has_refill_request() || self.has_memory_for_waiting_route()
    }

    /// Whether there is room in memory for parked tasks of a route that waits for it.
    fn has_memory_for_waiting_route(&self) -> bool {
        self.room_for_parked() > 0 && self.routes.is_any_waiting_for_memory()
    }

    /// The number of parked tasks for which there is room in memory.
    fn room_for_parked(&self) -> usize {
        (2 * self.settings.window_tasks).saturating_sub(self.tasks.len())
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
        let room = self.room_for_parked();
        let Some(route) = self.routes.get_mut(name) else {
            return Ok(false);
        };
        let limit = self.settings.ready;
        let Some(found) = route.read_parked(name, &self.view, limit, room)? else {
            if room == 0 && route.wants_parked(limit) {
                self.routes.queue_for_memory(name);
            }
            return Ok(false);
        };
        let has_more = route.backlog().is_some();
        let may_wait = !self.inherited.is_empty() || !self.moves.is_empty();
        let mut queued = Vec::new();
        for listed in found {
            let position = listed.position;
            let (seq, task) = TaskInMemory::from_parked(listed);
            if self.tasks.insert_ready(seq, task) {
                route.queue(position);
                if may_wait {
                    queued.push(position.seq);
                }
            }
        }
        for seq in queued {
            if !self.hold_for_move(seq) {
                self.claim_inherited(seq);
            }
        }
        self.dispatch(name);
        Ok(has_more)
    }
}
