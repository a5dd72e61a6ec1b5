//! The poller's side of the root: it registers the parent's waker and takes the wakes.

use core::task::Waker;

use super::{
    group::Group,
    handle::GroupHandle,
    parent::Stored,
    stack::{CLAIM, Top},
};
use crate::sync::{Ordering, spin_hint};

/// The group that wakes the parent task. It belongs to the poller.
#[repr(transparent)]
pub(crate) struct Root(GroupHandle);

impl Root {
    pub(crate) fn new() -> Self {
        Self(GroupHandle::new(Group::root()))
    }

    #[inline]
    pub(crate) fn group(&self) -> &GroupHandle {
        &self.0
    }

    /// Registers `waker`, so that the next wake wakes it, and takes what was woken. Returns `None`
    /// if the root was armed with this waker, so that nothing was woken.
    ///
    /// If `waker` or its predecessor panics, no wake is lost: the next call returns them.
    #[inline(always)]
    pub(crate) fn register(&mut self, waker: &Waker) -> Option<Top> {
        let group = &*self.0;
        match group.parent.compare(waker) {
            Stored::Same if group.top.load(Ordering::Relaxed) == 0 => None,
            Stored::Nothing => Some(self.arm(waker.clone())),
            Stored::Same | Stored::Other => Some(self.register_slowly(waker)),
        }
    }

    /// Handles a root that is armed with another waker, or whose waker another thread is taking.
    #[cold]
    fn register_slowly(&mut self, waker: &Waker) -> Top {
        let group = &*self.0;
        if !group.parent.is(waker) {
            let owned = waker.clone(); // before the claim: if it panics, nothing has changed
            if group.top.fetch_or(CLAIM, Ordering::AcqRel) == 0 {
                // SAFETY: the poller itself changed `top`, so it owns `parent`.
                drop(unsafe { group.parent.take() });
            }
            if group.parent.is_empty() {
                return self.arm(owned);
            }
            // Another thread is a few instructions away from taking the old waker. This task wakes
            // itself in order to register again. It does so before the wakes are taken, because it
            // may panic.
            spin_hint();
            owned.wake();
        }
        // Otherwise another thread is about to wake this task, and the next poll registers again.
        // `top` stays nonzero until then, so further wakes do not touch `parent`.
        Top(group.top.swap(CLAIM, Ordering::AcqRel) & !CLAIM)
    }

    /// Stores a waker, arms the root and takes what was woken. `parent` must be empty.
    #[inline]
    fn arm(&mut self, waker: Waker) -> Top {
        // SAFETY: while `parent` is empty, `top` is not zero and no thread is about to take a
        // waker, so the poller owns it.
        unsafe { self.0.parent.store(waker) };
        // Release: the thread that changes `top` next sees the waker.
        Top(self.0.top.swap(0, Ordering::AcqRel) & !CLAIM)
    }

    /// Drops the parent's waker. Later wakes have no effect. Must not be followed by `register`.
    pub(crate) fn close(&self) {
        if self.0.top.fetch_or(CLAIM, Ordering::AcqRel) == 0 {
            // SAFETY: the poller changed `top`, so it owns `parent`.
            drop(unsafe { self.0.parent.take() });
        }
        // Otherwise `parent` is empty, or another thread is taking the waker.
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        self.close();
    }
}
