use alloc::vec::Vec;
use core::{iter, task::Waker};

use super::{BegunRound, ReadySet};
use crate::attempts::wake::BITS;

impl ReadySet {
    /// Begins a round and returns its slots in the order in which they are visited.
    pub(crate) fn slots_of_round(&mut self, waker: &Waker) -> Vec<usize> {
        match self.begin_round(waker) {
            BegunRound::Empty => Vec::new(),
            BegunRound::One(visit) => Vec::from([visit.slot()]),
            BegunRound::Several => iter::from_fn(|| self.next())
                .map(|visit| visit.slot())
                .collect(),
        }
    }

    /// Returns an owned waker of a slot.
    pub(crate) fn own_waker(&mut self, slot: usize) -> Waker {
        self.group(slot / BITS).handle.waker(slot % BITS).clone()
    }
}
