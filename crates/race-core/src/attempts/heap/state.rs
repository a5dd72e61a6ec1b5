use alloc::boxed::Box;
use core::{mem, task::Waker};

use crate::attempts::ready_set::ReadySet;

/// How many futures the set holds, and who wakes it.
pub(super) enum State {
    /// None.
    Empty,
    /// One, in slot 0, which is polled with the parent's waker.
    Single,
    /// One, in slot 0, which is polled with the parent's waker. The ready set holds no slot; it
    /// wakes the parent for the timer and the source of a race.
    SingleWithReadySet(Box<ReadySet>),
    /// Any number. Each has a waker of the ready set.
    Several(Box<ReadySet>),
}

impl State {
    /// Takes the ready set, if there is one.
    pub(super) fn take(&mut self) -> Option<Box<ReadySet>> {
        match mem::replace(self, Self::Empty) {
            Self::Empty | Self::Single => None,
            Self::SingleWithReadySet(ready) | Self::Several(ready) => Some(ready),
        }
    }

    /// Begins a round of the timer and the source in the state `SingleWithReadySet`.
    #[inline(never)]
    pub(super) fn begin_round_of_sides(&mut self, waker: &Waker) {
        if let Self::SingleWithReadySet(ready) = self {
            ready.begin_round_of_sides(waker);
        }
    }

    /// Changes the state of an empty set that gets a future.
    #[inline(never)]
    pub(super) fn add_single(&mut self) {
        *self = match self.take() {
            None => Self::Single,
            Some(ready) => Self::SingleWithReadySet(ready),
        };
    }

    /// Changes the state of a set that loses its single future.
    #[inline(never)]
    pub(super) fn remove_single(&mut self) {
        *self = match self.take() {
            None => Self::Empty,
            Some(ready) => Self::Several(ready),
        };
    }
}
