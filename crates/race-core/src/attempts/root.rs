//! The poller's side of waking: the roots, and when their parent's waker may be touched. The protocol is
//! told in `group`.

use core::{
    mem::ManuallyDrop,
    ptr,
    task::{RawWakerVTable, Waker},
};

use super::{
    group::{BITS, GroupHandle},
    stack::Top,
};
use crate::sync::{Ordering, spin_hint};

/// The bit by which the poller turns the word of a root that has members. They are the bits below it.
pub(crate) const MEMBERS: usize = 1 << (BITS - 1);

/// The bit by which the poller turns the word of the root of a stack.
pub(crate) const STACK: usize = 1;

/// A root, and the poller's side of the protocol. `CLAIM` is `MEMBERS` or `STACK`.
pub(crate) struct Root<const CLAIM: usize> {
    group: GroupHandle,
    /// What the waker in the root is made of, while one is there. It keeps its data alive, so that no
    /// other waker has the same.
    armed: Option<Identity>,
}

type Identity = (*const (), *const RawWakerVTable);

fn identity(waker: &Waker) -> Option<Identity> {
    Some((waker.data(), ptr::from_ref(waker.vtable())))
}

// SAFETY: `armed` is compared and never followed; the rest is a handle.
unsafe impl<const CLAIM: usize> Send for Root<CLAIM> {}

impl Root<MEMBERS> {
    /// See [`GroupHandle::waker`].
    #[inline]
    pub(crate) fn waker(&self, bit: u8) -> ManuallyDrop<Waker> {
        self.group.waker(bit)
    }
}

impl Root<STACK> {
    /// As `arm`; takes the stack.
    #[inline]
    pub(crate) fn arm_stack(&mut self, waker: &Waker) -> (Top, Option<Waker>) {
        let (top, old) = self.arm(waker);
        (Top(top), old)
    }

    pub(super) fn group(&self) -> &GroupHandle {
        &self.group
    }
}

impl<const CLAIM: usize> Root<CLAIM> {
    pub(crate) fn new() -> Self {
        // Not armed: the poller owns the waker, of which there is none.
        Self {
            group: GroupHandle::new(None, CLAIM),
            armed: None,
        }
    }

    /// Sees to it that the next wake wakes `waker`, then takes the word. What comes with it is to be
    /// dropped when the word is noted: that is user code, which may panic.
    #[inline]
    pub(crate) fn arm(&mut self, waker: &Waker) -> (usize, Option<Waker>) {
        let group = &*self.group;
        if group.fired.load(Ordering::Acquire) {
            return self.rearm(waker.clone());
        }
        if self.armed == identity(waker) && group.word.load(Ordering::Relaxed) == 0 {
            // Whatever is set from here on wakes this very waker.
            return (0, None);
        }
        self.arm_slowly(waker)
    }

    /// The root is armed with another waker, or another thread is about to take the waker.
    #[cold]
    fn arm_slowly(&mut self, waker: &Waker) -> (usize, Option<Waker>) {
        let group = &*self.group;
        let is_same = self.armed == identity(waker);
        if !is_same {
            let owned = waker.clone(); // before anything has changed, should it panic
            // Zero: the poller itself has turned the word.
            if group.word.fetch_or(CLAIM, Ordering::AcqRel) == 0
                || group.fired.load(Ordering::Acquire)
            {
                return self.rearm(owned);
            }
        } else if group.fired.load(Ordering::Acquire) {
            return self.rearm(waker.clone());
        }
        // Another thread turned the word, and has not taken the waker yet. The word stays turned, and
        // is armed by the next poll. That thread's wake leads to it, if the waker is the same; else
        // this task polls again until that thread has done its few instructions.
        let word = group.word.swap(CLAIM, Ordering::AcqRel) & !CLAIM;
        if !is_same {
            spin_hint();
            waker.wake_by_ref();
        }
        (word, None)
    }

    /// Puts a waker in place and leaves the word zero. The waker's place must be the poller's.
    #[inline]
    fn rearm(&mut self, waker: Waker) -> (usize, Option<Waker>) {
        let group = &*self.group;
        self.armed = identity(&waker);
        // SAFETY: the word is not zero and no other thread is about to take the waker, so its place
        // belongs to the poller.
        let old = group
            .parent
            .with_mut(|parent| unsafe { (*parent).replace(waker) });
        group.fired.store(false, Ordering::Relaxed);
        // Release: the waker and `fired` are seen by who turns the word next.
        let word = group.word.swap(0, Ordering::AcqRel) & !CLAIM;
        (word, old)
    }

    /// Lets go of the parent's waker. From here on wakes do nothing. Only the poller may call it, and
    /// not while it arms.
    pub(crate) fn close(&self) {
        let group = &*self.group;
        let turned = group.word.fetch_or(CLAIM, Ordering::AcqRel) != 0;
        if turned && !group.fired.load(Ordering::Acquire) {
            return; // another thread is taking it out, or it was closed before
        }
        // SAFETY: the poller turned the word itself, or the one who did is done with the waker.
        let parent = group.parent.with_mut(|parent| unsafe { (*parent).take() });
        drop(parent);
    }
}

impl<const CLAIM: usize> Drop for Root<CLAIM> {
    fn drop(&mut self) {
        self.close();
    }
}
