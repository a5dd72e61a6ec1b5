//! The near future in memory.
//!
//! What waits on disk is read up to a *horizon*, a place in the order of time. The scheduler alone moves it: it
//! reads what lies before it in chunks, and the horizon is where the last chunk ended. What is committed later
//! is told as it happens, and taken if it is near, wherever the horizon is. A task that comes both ways is
//! known by its sequence number. So nothing falls in between: what was committed before a chunk was read is in
//! it, and what was committed after is told after.

use std::{mem, ops::ControlFlow};

use super::{
    Scheduler, Timer,
    live::{Due, Live, State},
};
use crate::{
    clock::Now,
    record::{self, Entry, key},
    store::{Space, Store, StoreError},
};

/// Tasks read in one go, so that others have their turn.
const CHUNK: usize = 1024;

/// Tasks that may be on their way to be parked before reading waits for the committer: what is read and due at once
/// must not pile up in memory on its way back to the disk.
const BEHIND: usize = 8 * CHUNK;

/// How far, in nanoseconds, the wall clock may go astray before all that is armed is armed again.
const STEP: u128 = 250_000_000;

#[derive(Debug)]
pub(super) struct Window {
    /// All before it, from the start of the server on, has been read.
    horizon: (u64, u64),
    /// What was overdue when the server started, from here to there, is read beside the rest: so a long list of
    /// what nobody takes holds up nobody.
    overdue: Option<[(u64, u64); 2]>,
    /// Whether there may be more on disk beyond the horizon.
    pub(super) beyond: bool,
    /// How many tasks are armed.
    pub(super) armed: usize,
    /// The offset of the wall clock by which they are.
    offset: i128,
}

impl Window {
    pub(super) fn new(low_water: u64, now: Now) -> Self {
        let start = now.wall_millis().max(low_water);
        Self {
            horizon: (start, 0),
            overdue: (low_water < start).then_some([(low_water, 0), (start, 0)]),
            beyond: true,
            armed: 0,
            offset: now.offset(),
        }
    }

    /// Nothing waits on disk before this time that is not in memory.
    pub(super) fn read_from(&self) -> u64 {
        let overdue = self.overdue.map_or(u64::MAX, |[from, _]| from.0);
        self.horizon.0.min(overdue)
    }
}

impl<S: Store> Scheduler<S> {
    /// Whether a task at that place in the order of time belongs into memory.
    pub(super) fn is_near(&self, at: u64, seq: u64) -> bool {
        at < self.near() || (at, seq) < self.window.horizon
    }

    fn near(&self) -> u64 {
        let now = self.now.wall_millis();
        now.saturating_add(self.settings.window_millis)
    }

    /// Arms a task, and makes room if there are too many.
    pub(super) fn arm(&mut self, seq: u64, mut task: Live, due: Due) {
        let deadline = match due {
            Due::Wall => self.now.tick_of(task.at),
            Due::Monotonic(deadline) => deadline,
        };
        let timer = self.wheel.insert(deadline, Timer::Due(seq));
        task.state = State::Armed { timer, due };
        self.tasks.insert(seq, task);
        self.window.armed += 1;
        if self.window.armed > self.settings.window_tasks {
            self.evict();
        }
    }

    /// Drops the later half of what is armed: it is on disk, beyond a nearer horizon.
    fn evict(&mut self) {
        let mut armed: Vec<(u64, u64)> = self
            .tasks
            .iter()
            .filter(|(_, task)| matches!(task.state, State::Armed { .. }))
            .map(|(seq, task)| (task.at, *seq))
            .collect();
        let half = armed.len() / 2;
        let (_, first, later) = armed.select_nth_unstable(half);
        let first = *first;
        for (_, seq) in later.iter().chain([&first]) {
            self.drop_task(*seq);
        }
        self.window.horizon = self.window.horizon.min(first);
        self.window.beyond = true;
    }

    /// The time has come for a task, or so it seemed when it was armed.
    pub(super) fn came_due(&mut self, seq: u64) {
        let now = self.now;
        let Some(task) = self.tasks.get_mut(&seq) else {
            return;
        };
        let State::Armed { timer, due } = &mut task.state else {
            return;
        };
        if *due == Due::Wall && task.at > now.wall_millis() {
            *timer = self.wheel.insert(now.tick_of(task.at), Timer::Due(seq));
            return;
        }
        self.window.armed -= 1;
        task.state = State::Changing;
        self.offer(seq);
    }

    /// Looks whether the wall clock was set, and arms everything again if so.
    pub(super) fn look_at_the_clock(&mut self) {
        let offset = self.now.offset();
        if (offset - self.window.offset).unsigned_abs() <= STEP {
            return;
        }
        let by = (offset - self.window.offset) / 1_000_000;
        tracing::warn!(milliseconds = %by, "the wall clock was set; arming what waits again");
        self.window.offset = offset;
        let now = self.now;
        for (seq, task) in &mut self.tasks {
            if let State::Armed {
                timer,
                due: Due::Wall,
            } = &mut task.state
            {
                let again = self.wheel.insert(now.tick_of(task.at), Timer::Due(*seq));
                self.wheel.cancel(mem::replace(timer, again));
            }
        }
    }

    /// Whether there is something to read, and room for it, or no time to wait for room.
    pub(super) fn wants_to_read(&self) -> bool {
        let now = self.now.wall_millis();
        let soon = now.saturating_add(self.settings.window_millis / 2);
        let behind = self.window.beyond && self.window.horizon.0 < soon;
        let late = self.window.beyond && self.window.horizon.0 <= now;
        let room = self.window.armed <= self.settings.window_tasks / 2;
        let wanted = late || room && (behind || self.window.overdue.is_some());
        wanted && self.promised.parks() < BEHIND
    }

    /// Reads a chunk of the near future, and one of what was overdue at the start.
    pub(super) fn read(&mut self) -> Result<(), StoreError> {
        let near = (self.near(), 0);
        if self.window.beyond && self.window.horizon < near {
            let chunk = self.read_chunk(self.window.horizon, near)?;
            self.window.horizon = chunk.to;
            self.window.beyond = chunk.beyond;
            self.take(chunk.found);
        }
        if let Some([from, to]) = self.window.overdue {
            let chunk = self.read_chunk(from, to)?;
            self.window.overdue = (chunk.to < to).then_some([chunk.to, to]);
            self.take(chunk.found);
        }
        Ok(())
    }

    fn read_chunk(&self, from: (u64, u64), to: (u64, u64)) -> Result<Chunk, StoreError> {
        let mut chunk = Chunk {
            found: Vec::new(),
            to,
            beyond: false,
        };
        let mut error = None;
        self.store.scan(
            Space::Waiting,
            &key::time(from.0, from.1),
            &mut |key, value| match waiting(key, value) {
                Err(cause) => {
                    error = Some(cause);
                    ControlFlow::Break(())
                }
                Ok((seq, task)) if (task.at, seq) >= to || chunk.found.len() == CHUNK => {
                    chunk.beyond = true;
                    chunk.to = to.min((task.at, seq));
                    ControlFlow::Break(())
                }
                Ok(task) => {
                    chunk.found.push(task);
                    ControlFlow::Continue(())
                }
            },
        )?;
        error.map_or(Ok(chunk), Err)
    }

    /// Takes what was read into memory. The horizon is beyond it by now, so that it can come back if there is no
    /// room for all.
    fn take(&mut self, found: Vec<(u64, Live)>) {
        for (seq, task) in found {
            if self.tasks.contains_key(&seq) {
                continue;
            }
            if task.at <= self.now.wall_millis() {
                self.tasks.insert(seq, task);
                self.offer(seq);
            } else {
                self.arm(seq, task, Due::Wall);
            }
        }
    }
}

/// What was read in one go.
struct Chunk {
    found: Vec<(u64, Live)>,
    /// All before this has been read.
    to: (u64, u64),
    /// Whether there is more.
    beyond: bool,
}

fn waiting(key: &[u8], value: &[u8]) -> Result<(u64, Live), StoreError> {
    let (at, seq) = key::time_of(key)?;
    let entry: Entry<'_> = record::decode(value)?;
    let task = Live {
        route: entry.route.into(),
        id: entry.id.into(),
        at,
        parked: false,
        attempt: entry.attempt,
        failures: entry.failures,
        avoid: None,
        state: State::Changing,
    };
    Ok((seq, task))
}
