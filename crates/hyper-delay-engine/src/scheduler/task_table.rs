use std::{collections::hash_map::Entry, mem, time::Duration};

use race_wheel::Tick;
use rustc_hash::FxHashMap;

use super::{
    round::{EndedRound, Round},
    task::{DeliveryState, DueBy, PendingChange, TaskInMemory},
    timers::{Timer, Timers},
};
use crate::{clock::Now, ledger::Position};

/// The tasks in memory, by sequence number, with their states. Each change of a state is a method.
#[derive(Debug, Default)]
pub(super) struct TaskTable {
    by_seq: FxHashMap<u64, (TaskInMemory, DeliveryState)>,
    /// The number of waiting tasks.
    waiting: usize,
    /// The number of those whose consumers rest.
    resting: usize,
    /// The number of tasks in flight.
    in_flight: usize,
}

/// The state that a task has left.
#[derive(Debug)]
pub(super) enum PreviousState {
    /// Nothing that concerns anything else.
    Idle,
    /// It was queued on its route.
    Ready,
    /// It was in flight.
    Round(EndedRound),
    /// A write of a change is in flight.
    Committing(PendingChange),
}

impl TaskTable {
    pub(super) fn len(&self) -> usize {
        self.by_seq.len()
    }

    /// The number of tasks that wait for their time.
    pub(super) const fn waiting(&self) -> usize {
        self.waiting
    }

    /// The number of tasks that wait because their consumers rest.
    pub(super) const fn resting(&self) -> usize {
        self.resting
    }

    /// Returns the number of rounds in progress.
    pub(super) const fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(super) fn contains(&self, seq: u64) -> bool {
        self.by_seq.contains_key(&seq)
    }

    pub(super) fn get(&self, seq: u64) -> Option<&TaskInMemory> {
        self.by_seq.get(&seq).map(|(task, _)| task)
    }

    pub(super) fn get_mut(&mut self, seq: u64) -> Option<&mut TaskInMemory> {
        self.by_seq.get_mut(&seq).map(|(task, _)| task)
    }

    /// A task whose time has come arrives from the disk.
    pub(super) fn insert_due(&mut self, seq: u64, task: TaskInMemory) {
        self.by_seq.insert(seq, (task, DeliveryState::Due));
    }

    /// A parked task arrives from the disk and is queued. Returns false if it is in memory already.
    pub(super) fn insert_ready(&mut self, seq: u64, task: TaskInMemory) -> bool {
        match self.by_seq.entry(seq) {
            Entry::Occupied(_) => false,
            Entry::Vacant(vacant) => {
                vacant.insert((task, DeliveryState::Ready));
                true
            }
        }
    }

    /// A task waits for its time.
    pub(super) fn insert_waiting(
        &mut self,
        seq: u64,
        task: TaskInMemory,
        due: DueBy,
        now: Now,
        timers: &mut Timers,
    ) {
        let deadline = match due {
            DueBy::Wall => now.tick_of(task.at()),
            DueBy::Monotonic(deadline) => deadline,
            DueBy::Rest => now.monotonic,
        };
        let timer = timers.insert(deadline, Timer::Due(seq));
        self.by_seq
            .insert(seq, (task, DeliveryState::Waiting { timer, due }));
        self.waiting += 1;
    }

    /// The timer of a waiting task has expired. Returns whether its time has come; if the wall
    /// clock was set back since, it waits on.
    pub(super) fn come_due(&mut self, seq: u64, now: Now, timers: &mut Timers) -> bool {
        let Some((task, state)) = self.by_seq.get_mut(&seq) else {
            return false;
        };
        let DeliveryState::Waiting { timer, due } = state else {
            return false;
        };
        if *due == DueBy::Wall && task.at() > now.wall_millis() {
            *timer = timers.insert(now.tick_of(task.at()), Timer::Due(seq));
            return false;
        }
        self.resting -= usize::from(*due == DueBy::Rest);
        *state = DeliveryState::Due;
        self.waiting -= 1;
        true
    }

    /// The consumers of a due task rest: it waits until it is offered again.
    pub(super) fn wait_for_rest_end(&mut self, seq: u64, until: Tick, timers: &mut Timers) {
        if let Some((_, state @ (DeliveryState::Due | DeliveryState::Ready))) =
            self.by_seq.get_mut(&seq)
        {
            let timer = timers.insert(until, Timer::Due(seq));
            let due = DueBy::Rest;
            *state = DeliveryState::Waiting { timer, due };
            self.waiting += 1;
            self.resting += 1;
        }
    }

    /// A due task is queued on its route.
    pub(super) fn queue(&mut self, seq: u64) {
        self.set(seq, DeliveryState::Ready);
    }

    /// A queued task is delivered to a consumer.
    pub(super) fn begin_round(&mut self, seq: u64, round: Round) {
        self.set(seq, DeliveryState::InFlight(round));
        self.in_flight += 1;
    }

    /// Whether a task is queued on its route.
    pub(super) fn is_ready(&self, seq: u64) -> bool {
        let state = self.by_seq.get(&seq).map(|(_, state)| state);
        matches!(state, Some(DeliveryState::Ready))
    }

    /// Ends the round of a task, which is due again at once.
    pub(super) fn end_round(&mut self, seq: u64, timers: &mut Timers) {
        if let Some((_, state @ DeliveryState::InFlight(_))) = self.by_seq.get_mut(&seq)
            && let DeliveryState::InFlight(round) = mem::replace(state, DeliveryState::Due)
        {
            round.end(timers);
            self.in_flight -= 1;
        }
    }

    /// A change of a task is on its way to the disk. Returns the state that it has left.
    pub(super) fn commit(
        &mut self,
        seq: u64,
        change: PendingChange,
        timers: &mut Timers,
    ) -> Option<PreviousState> {
        let (_, state) = self.by_seq.get_mut(&seq)?;
        let before = mem::replace(state, DeliveryState::Committing(change));
        Some(self.leave_state(before, timers))
    }

    /// The change whose write is in flight, if there is one.
    pub(super) fn pending_change(&self, seq: u64) -> Option<PendingChange> {
        match self.by_seq.get(&seq)?.1 {
            DeliveryState::Committing(change) => Some(change),
            _ => None,
        }
    }

    /// A change of a task is on disk. Returns the task if it is still the latest change.
    pub(super) fn take_committed(
        &mut self,
        seq: u64,
        change: PendingChange,
    ) -> Option<TaskInMemory> {
        (self.pending_change(seq)? == change)
            .then(|| self.by_seq.remove(&seq))
            .flatten()
            .map(|(task, _)| task)
    }

    /// The current round.
    pub(super) fn round(&self, seq: u64) -> Option<&Round> {
        match &self.by_seq.get(&seq)?.1 {
            DeliveryState::InFlight(round) => Some(round),
            _ => None,
        }
    }

    /// All current rounds.
    #[cfg(test)]
    pub(super) fn rounds(&self) -> impl Iterator<Item = (u64, &Round)> {
        self.by_seq
            .iter()
            .filter_map(|(seq, (_, state))| match state {
                DeliveryState::InFlight(round) => Some((*seq, round)),
                _ => None,
            })
    }

    /// The current round, and its task.
    pub(super) fn round_mut(&mut self, seq: u64) -> Option<(&mut TaskInMemory, &mut Round)> {
        match self.by_seq.get_mut(&seq)? {
            (task, DeliveryState::InFlight(round)) => Some((task, round)),
            _ => None,
        }
    }

    /// Removes a task from memory. Returns it and its last state.
    pub(super) fn remove(
        &mut self,
        seq: u64,
        timers: &mut Timers,
    ) -> Option<(TaskInMemory, PreviousState)> {
        let (task, state) = self.by_seq.remove(&seq)?;
        Some((task, self.leave_state(state, timers)))
    }

    /// A queued task is delivered no longer. Removes it from memory if it is parked on disk; returns
    /// false if it is not.
    pub(super) fn remove_parked(&mut self, seq: u64, timers: &mut Timers) -> bool {
        let is_parked = self.get(seq).is_some_and(TaskInMemory::is_parked);
        is_parked && self.remove(seq, timers).is_some()
    }

    /// Removes the later half of the waiting tasks. Returns the first position that was removed.
    pub(super) fn evict_later_half(&mut self, timers: &mut Timers) -> Option<Position> {
        let waiting = self.by_seq.iter();
        let waiting =
            waiting.filter(|(_, (_, state))| matches!(state, DeliveryState::Waiting { .. }));
        let waiting = waiting.map(|(seq, (task, _))| task.position(*seq));
        let mut waiting: Vec<Position> = waiting.collect();
        // More than half of the window stays, so that what goes is not read again at once.
        let half = waiting.len().div_ceil(2);
        if half >= waiting.len() {
            return None;
        }
        let (_, first, later) = waiting.select_nth_unstable(half);
        let first = *first;
        for position in later.iter().chain([&first]) {
            self.remove(position.seq, timers);
        }
        Some(first)
    }

    /// The server stood still and is late by that much: the current rounds end later.
    pub(super) fn extend_rounds_after_stall(
        &mut self,
        late: Duration,
        now: Tick,
        timers: &mut Timers,
    ) {
        for (seq, (_, state)) in &mut self.by_seq {
            if let DeliveryState::InFlight(round) = state {
                round.extend_after_stall(*seq, late, now, timers);
            }
        }
    }

    /// The wall clock was set: the timers of all tasks that wait by it are set anew.
    pub(super) fn rearm_after_clock_step(&mut self, now: Now, timers: &mut Timers) {
        for (seq, (task, state)) in &mut self.by_seq {
            if let DeliveryState::Waiting {
                timer,
                due: DueBy::Wall,
            } = state
            {
                timers.cancel(*timer);
                *timer = timers.insert(now.tick_of(task.at()), Timer::Due(*seq));
            }
        }
    }

    /// The earliest time on disk of the tasks in memory that wait there; Unix milliseconds.
    pub(super) fn earliest_waiting(&self) -> Option<u64> {
        let waiting = self.by_seq.values().filter(|(task, _)| !task.is_parked());
        waiting.map(|(task, _)| task.at()).min()
    }

    fn set(&mut self, seq: u64, state: DeliveryState) {
        if let Some((_, before)) = self.by_seq.get_mut(&seq) {
            debug_assert!(
                matches!(before, DeliveryState::Due | DeliveryState::Ready),
                "{before:?} has a timer or a change in flight"
            );
            *before = state;
        }
    }

    fn leave_state(&mut self, state: DeliveryState, timers: &mut Timers) -> PreviousState {
        match state {
            DeliveryState::Due => PreviousState::Idle,
            DeliveryState::Waiting { timer, due } => {
                timers.cancel(timer);
                self.waiting -= 1;
                self.resting -= usize::from(due == DueBy::Rest);
                PreviousState::Idle
            }
            DeliveryState::Ready => PreviousState::Ready,
            DeliveryState::InFlight(round) => {
                self.in_flight -= 1;
                PreviousState::Round(round.end(timers))
            }
            DeliveryState::Committing(change) => PreviousState::Committing(change),
        }
    }

    /// All tasks with their states.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &TaskInMemory, &DeliveryState)> {
        let tasks = self.by_seq.iter();
        tasks.map(|(seq, (task, state))| (*seq, task, state))
    }
}

/// When a retry is due.
impl DueBy {
    pub(super) fn has_passed(self, now: Tick) -> bool {
        matches!(self, Self::Monotonic(at) if at <= now)
    }
}

#[cfg(test)]
mod tests;
