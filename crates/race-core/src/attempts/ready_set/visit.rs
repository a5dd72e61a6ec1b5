use core::ptr::NonNull;

use super::polled_group::PolledGroup;
use crate::attempts::{BorrowedWaker, wake::BITS};

/// An occupied slot that is polled, and where its group is, which so is looked up only once.
pub(crate) struct Visit {
    slot: usize,
    group: NonNull<PolledGroup>,
}

impl Visit {
    #[inline]
    pub(super) fn new(slot: usize, group: &mut PolledGroup) -> Self {
        Self {
            slot,
            group: NonNull::from(group),
        }
    }

    #[inline]
    pub(crate) fn slot(&self) -> usize {
        self.slot
    }

    /// Returns the waker of the slot.
    ///
    /// # Safety
    ///
    /// No method of the ready set was called since it returned this visit. The ready set exists as
    /// long as the waker is used.
    #[inline]
    pub(crate) unsafe fn waker<'a>(&self) -> BorrowedWaker<'a> {
        // SAFETY: no method was called since, so no group was added and the handle has not moved.
        // The ready set exists, so the handle keeps the group of the waker alive.
        unsafe { self.group.as_ref().handle.waker(self.slot % BITS).detach() }
    }

    /// Frees the slot and returns whether its group was full. The caller then passes this on to
    /// [`ReadySet::freed`](super::ReadySet::freed).
    ///
    /// # Safety
    ///
    /// No method of the ready set was called since it returned this visit. The ready set exists and
    /// is borrowed mutably by the caller.
    #[inline]
    pub(crate) unsafe fn free(mut self) -> bool {
        // SAFETY: no method was called since, so the group has not moved and no other reference to
        // it exists.
        let group = unsafe { &mut self.group.as_mut().slots };
        let was_full = group.is_full();
        group.free(self.slot);
        was_full
    }
}
