//! The poller's side of a root: it registers the parent's waker and takes the wakes.

use core::{
    mem::ManuallyDrop,
    ptr,
    task::{RawWakerVTable, Waker},
};

use super::{
    group::{BITS, Group},
    handle::GroupHandle,
    stack::StackTop,
};
use crate::sync::{Ordering, spin_hint};

/// The bit by which the poller claims the word of a root with members. The bits below are members.
pub(crate) const MEMBERS: usize = 1 << (BITS - 1);

/// The bit by which the poller claims the word of the root of a stack.
pub(crate) const STACK: usize = 1;

/// A group that wakes the parent task. `CLAIM`, either `MEMBERS` or `STACK`, is a bit that only the
/// poller sets; it makes the word nonzero without a wake.
pub(crate) struct RootGroup<const CLAIM: usize> {
    group: GroupHandle,
    /// The identity of the waker that was stored last. While the waker is in the root it keeps its
    /// data alive, so no other waker has the same identity.
    registered: Option<Identity>,
}

type Identity = (*const (), *const RawWakerVTable);

fn identity(waker: &Waker) -> Option<Identity> {
    Some((waker.data(), ptr::from_ref(waker.vtable())))
}

// SAFETY: `registered` is compared and never dereferenced; `GroupHandle` is `Send`.
unsafe impl<const CLAIM: usize> Send for RootGroup<CLAIM> {}

impl RootGroup<MEMBERS> {
    /// Returns a borrowed waker for a member. A clone of it owns a handle.
    #[inline]
    pub(crate) fn waker(&self, bit: u8) -> ManuallyDrop<Waker> {
        self.group.waker(bit)
    }
}

impl RootGroup<STACK> {
    /// Calls `register` and returns the stack instead of the word.
    #[inline]
    pub(crate) fn register_and_take_stack(&mut self, waker: &Waker) -> (StackTop, Option<Waker>) {
        let (top, replaced) = self.register(waker);
        (StackTop(top), replaced)
    }
}

impl<const CLAIM: usize> RootGroup<CLAIM> {
    /// Creates a root without a waker. The claim makes the poller the owner of `parent`.
    pub(crate) fn new() -> Self {
        Self {
            group: GroupHandle::new(Group::new(None, CLAIM)),
            registered: None,
        }
    }

    pub(super) fn group(&self) -> &GroupHandle {
        &self.group
    }

    /// Registers `waker`, so that the next wake wakes it, and takes the word.
    ///
    /// Also returns the waker that was replaced. The caller drops it after it has noted the word,
    /// because the drop may panic. No other call of user code follows the taking of the word.
    #[inline]
    pub(crate) fn register(&mut self, waker: &Waker) -> (usize, Option<Waker>) {
        let group = &*self.group;
        if group.fired.load(Ordering::Acquire) {
            return self.store(waker.clone());
        }
        if self.registered == identity(waker) && group.word.load(Ordering::Relaxed) == 0 {
            // The root is armed with this waker.
            return (0, None);
        }
        self.register_slowly(waker)
    }

    /// Handles a root that is armed with another waker, or whose waker another thread is taking.
    #[cold]
    fn register_slowly(&mut self, waker: &Waker) -> (usize, Option<Waker>) {
        let group = &*self.group;
        if self.registered == identity(waker) {
            if group.fired.load(Ordering::Acquire) {
                return self.store(waker.clone());
            }
            // Another thread is about to wake this task, and the next poll registers again.
        } else {
            let owned = waker.clone(); // before the claim: if it panics, nothing has changed
            // Zero: the poller itself changed the word, so it owns `parent`.
            if group.word.fetch_or(CLAIM, Ordering::AcqRel) == 0
                || group.fired.load(Ordering::Acquire)
            {
                return self.store(owned);
            }
            // Another thread is a few instructions away from taking the old waker. This task wakes
            // itself in order to register again. It does so before the word is taken, because the
            // wake may panic.
            spin_hint();
            owned.wake();
        }
        // The word stays nonzero until then, so further wakes do not touch `parent`.
        (group.word.swap(CLAIM, Ordering::AcqRel) & !CLAIM, None)
    }

    /// Stores a waker, arms the root and takes the word. The poller must own `parent`.
    #[inline]
    fn store(&mut self, waker: Waker) -> (usize, Option<Waker>) {
        let group = &*self.group;
        self.registered = identity(&waker);
        // SAFETY: the word is not zero and no other thread is about to take the waker, so the
        // poller owns `parent`.
        let replaced = group
            .parent
            .with_mut(|parent| unsafe { (*parent).replace(waker) });
        group.fired.store(false, Ordering::Relaxed);
        // Release: the thread that changes the word next sees the waker and `fired`.
        let word = group.word.swap(0, Ordering::AcqRel) & !CLAIM;
        (word, replaced)
    }

    /// Drops the parent's waker. Later wakes have no effect. Must not be followed by `register`.
    pub(crate) fn close(&self) {
        let group = &*self.group;
        let was_claimed = group.word.fetch_or(CLAIM, Ordering::AcqRel) != 0;
        if was_claimed && !group.fired.load(Ordering::Acquire) {
            return; // another thread is taking the waker, or `close` has taken it before
        }
        // SAFETY: the poller changed the word, or the thread that did has set `fired`, so the
        // poller owns `parent`.
        let parent = group.parent.with_mut(|parent| unsafe { (*parent).take() });
        drop(parent);
    }
}

impl<const CLAIM: usize> Drop for RootGroup<CLAIM> {
    fn drop(&mut self) {
        self.close();
    }
}
