//! The slot in which the applier leaves a group for the writer.

use std::{
    mem,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::group::Group;
use hyper_delay_store::StoreError;

/// One group that waits to be written. It can grow until the writer takes it.
#[derive(Debug, Default)]
pub(super) struct GroupSlot {
    state: Mutex<SlotState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct SlotState {
    waiting: Option<Group>,
    is_writing: bool,
    /// The number of written groups.
    written: u64,
    applier: ApplierState,
    has_writer_ended: bool,
    /// The number of jobs that the writer waits for.
    wanted: usize,
    /// Threads that wait for a change. A notification is a system call, so it needs one.
    sleepers: usize,
}

/// The state of the applier.
#[derive(Debug, Default)]
enum ApplierState {
    #[default]
    Runs,
    /// It has ended, with this error if it failed.
    Ended(Option<StoreError>),
}

/// The result of waiting for a group.
#[derive(Debug)]
pub(super) enum NextGroup {
    Group(Group),
    /// No group came in time.
    Nothing,
    /// No group will come any more.
    End(Result<(), StoreError>),
}

/// The writer has ended: no group is written any more.
#[derive(Debug)]
pub(super) struct WriterEnded;

impl SlotState {
    /// Whether the group that waits, or that the applier has taken back, lacks jobs that may come.
    fn has_fewer_than(&self, jobs: usize) -> bool {
        let waiting = self.waiting.as_ref();
        matches!(self.applier, ApplierState::Runs)
            && waiting.is_none_or(|group| group.committed.len() < jobs && !group.is_full())
    }
}

impl GroupSlot {
    /// Returns the waiting group, if there is one, and the number of written groups. Waits while
    /// the group must not grow, because it is full or the writer is about to take it.
    pub(super) fn reopen(&self) -> Result<(Option<Group>, u64), WriterEnded> {
        let mut state = self.wait_for_writer(|state| {
            state.waiting.as_ref().is_some_and(|group| {
                let is_enough = group.committed.len() >= state.wanted;
                group.is_full() || !state.is_writing && is_enough
            })
        })?;
        Ok((state.waiting.take(), state.written))
    }

    /// Returns whether the writer waits for a group.
    pub(super) fn is_writer_idle(&self) -> bool {
        !self.state().is_writing
    }

    /// Leaves a group for the writer. No other group may wait.
    pub(super) fn offer(&self, group: Group) {
        let mut state = self.state();
        assert!(state.waiting.is_none(), "a group would be lost");
        let is_wanted = group.committed.len() >= state.wanted || group.is_full();
        state.waiting = Some(group);
        if is_wanted {
            self.notify(&state);
        }
    }

    /// Waits until all groups are written. Returns their number.
    pub(super) fn flush(&self) -> Result<u64, WriterEnded> {
        let is_busy = |state: &SlotState| state.waiting.is_some() || state.is_writing;
        Ok(self.wait_for_writer(is_busy)?.written)
    }

    /// Ends the applier: the writer writes the waiting group, and then ends with this result. Only
    /// the first call has an effect.
    pub(super) fn end_applier(&self, result: Result<(), StoreError>) {
        let mut state = self.state();
        if let ApplierState::Runs = state.applier {
            state.applier = ApplierState::Ended(result.err());
            self.notify(&state);
        }
    }

    /// Takes the waiting group, or waits for one, for at most `wait` if that is given. A group with
    /// fewer than `jobs` jobs has the time `patience` to grow. The group taken before counts as
    /// written.
    pub(super) fn take(
        &self,
        wait: Option<Duration>,
        (jobs, patience): (usize, Duration),
    ) -> NextGroup {
        let mut state = self.state();
        if mem::take(&mut state.is_writing) {
            state.written += 1;
            self.notify(&state);
        }
        let mut state = self.wait_while(state, wait, |state| {
            state.waiting.is_none() && matches!(state.applier, ApplierState::Runs)
        });
        if state.waiting.is_some() && state.has_fewer_than(jobs) {
            state.wanted = jobs;
            self.notify(&state);
            state = self.wait_while(state, Some(patience), |state| state.has_fewer_than(jobs));
            state.wanted = 0;
            // The applier may have it at this moment, and gives it back.
            state = self.wait_while(state, None, |state| {
                state.waiting.is_none() && matches!(state.applier, ApplierState::Runs)
            });
        }
        if let Some(group) = state.waiting.take() {
            state.is_writing = true;
            self.notify(&state);
            return NextGroup::Group(group);
        }
        match &mut state.applier {
            ApplierState::Runs => NextGroup::Nothing,
            ApplierState::Ended(error) => NextGroup::End(error.take().map_or(Ok(()), Err)),
        }
    }

    /// Ends the writer: the waiting group is not written.
    pub(super) fn end_writer(&self) {
        let mut state = self.state();
        state.has_writer_ended = true;
        self.notify(&state);
    }

    fn state(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify(&self, state: &SlotState) {
        if state.sleepers > 0 {
            self.changed.notify_all();
        }
    }

    fn wait_for_writer(
        &self,
        condition: impl Fn(&SlotState) -> bool,
    ) -> Result<MutexGuard<'_, SlotState>, WriterEnded> {
        let state = self.wait_while(self.state(), None, |state| {
            !state.has_writer_ended && condition(state)
        });
        match state.has_writer_ended {
            true => Err(WriterEnded),
            false => Ok(state),
        }
    }

    fn wait_while<'a>(
        &'a self,
        mut state: MutexGuard<'a, SlotState>,
        wait: Option<Duration>,
        condition: impl Fn(&SlotState) -> bool,
    ) -> MutexGuard<'a, SlotState> {
        if !condition(&state) {
            return state;
        }
        state.sleepers += 1;
        let condition = |state: &mut SlotState| condition(state);
        let mut state = match wait {
            None => self
                .changed
                .wait_while(state, condition)
                .unwrap_or_else(PoisonError::into_inner),
            Some(wait) => {
                let woken = self.changed.wait_timeout_while(state, wait, condition);
                woken.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        state.sleepers -= 1;
        state
    }
}

#[cfg(test)]
mod tests;
