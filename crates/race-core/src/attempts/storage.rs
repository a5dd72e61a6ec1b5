use core::{
    pin::Pin,
    ptr,
    task::{Context, Poll},
};

use super::memory::Slots;

/// The running attempts, each pinned in its slot from the push to the drop of its future.
///
/// A slot is *occupied* if it holds an attempt. The caller knows which slots are occupied.
pub(crate) struct Storage<F, A> {
    slots: Slots<Attempt<F, A>>,
}

/// The future comes first and is dropped first, because it may use what its argument keeps alive.
struct Attempt<F, A> {
    future: F,
    arg: A,
}

impl<F, A> Storage<F, A> {
    pub(crate) fn new() -> Self {
        Self {
            slots: Slots::new(),
        }
    }

    /// Allocates a slot if it is not allocated. All lower slots must be allocated.
    #[inline]
    pub(crate) fn reserve(&mut self, slot: usize) {
        self.slots.reserve(slot);
    }

    /// Moves an attempt into a slot, which then is occupied.
    #[inline]
    pub(crate) fn insert(&mut self, slot: usize, arg: A, future: F) {
        // SAFETY: the address is valid for writes, as `get` returns allocated memory. In an
        // occupied slot this would leak an attempt.
        unsafe { self.slots.get(slot).write(Attempt { future, arg }) };
    }

    /// # Safety
    ///
    /// The slot is occupied.
    #[inline]
    pub(crate) unsafe fn arg(&self, slot: usize) -> &A {
        // SAFETY: the slot holds an attempt, and only methods that take `&mut self` change it.
        unsafe { &(*self.slots.get(slot).as_ptr()).arg }
    }

    /// Polls the future in a slot.
    ///
    /// # Safety
    ///
    /// The slot is occupied.
    #[inline(always)]
    pub(crate) unsafe fn poll(&mut self, slot: usize, cx: &mut Context<'_>) -> Poll<F::Output>
    where
        F: Future,
    {
        let attempt = self.slots.get(slot).as_ptr();
        // SAFETY: the slot holds an attempt. Slots do not move, and `remove` and `drop_in_place`
        // drop the future in its slot, so it is pinned.
        let future = unsafe { Pin::new_unchecked(&mut (*attempt).future) };
        future.poll(cx)
    }

    /// Drops the future in a slot and returns its argument. If the drop panics, the argument is
    /// dropped too.
    ///
    /// # Safety
    ///
    /// The slot is occupied. It is free afterwards, also if this panics.
    #[inline(always)]
    pub(crate) unsafe fn remove(&mut self, slot: usize) -> A {
        let attempt = self.slots.get(slot).as_ptr();
        // SAFETY: the slot holds an attempt, and the caller treats it as free afterwards. So the
        // argument is moved out once and the future dropped once.
        unsafe {
            let arg = ptr::read(&raw const (*attempt).arg);
            ptr::drop_in_place(&raw mut (*attempt).future);
            arg
        }
    }

    /// Drops the attempt in a slot, through a shared reference for the sake of `DropAll`.
    ///
    /// # Safety
    ///
    /// The slot is occupied. It is free afterwards, also if this panics. No reference to the
    /// attempt exists.
    pub(crate) unsafe fn drop_in_place(&self, slot: usize) {
        // SAFETY: the slot holds an attempt, and the caller treats it as free afterwards.
        unsafe { self.slots.get(slot).drop_in_place() };
    }
}
