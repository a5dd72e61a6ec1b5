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
    /// The number of occupied slots.
    len: usize,
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
            len: 0,
        }
    }

    /// Creates a storage with slots for this many attempts, in a single block.
    ///
    /// # Panics
    ///
    /// Panics if the block would exceed `isize::MAX` bytes.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self {
            slots: Slots::with_capacity(capacity),
            len: 0,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Moves an attempt into a slot, which then is occupied.
    ///
    /// # Safety
    ///
    /// The place is a free slot of this storage.
    #[inline]
    pub(crate) unsafe fn fill(&mut self, place: Place<F, A>, arg: A, future: F) {
        self.len += 1;
        // SAFETY: the memory of a slot is valid for writes.
        unsafe { place.0.write(Attempt { future, arg }) };
    }

    /// Must be called before the attempt of a slot is removed.
    #[inline]
    pub(crate) fn free(&mut self) {
        self.len -= 1;
    }

    /// Allocates slot 0 if it is not allocated.
    #[inline]
    pub(crate) fn reserve_first(&mut self) {
        self.slots.reserve_first();
    }

    /// Allocates a slot other than 0 if it is not allocated. All lower slots must be allocated.
    #[inline]
    pub(crate) fn reserve(&mut self, slot: usize) {
        self.slots.reserve(slot);
    }

    /// Returns the place of slot 0.
    ///
    /// # Safety
    ///
    /// The slot is allocated.
    #[inline]
    pub(crate) unsafe fn first(&self) -> Place<F, A> {
        // SAFETY: the caller promises it.
        Place(unsafe { self.slots.first() })
    }

    /// Returns the place of a slot.
    ///
    /// # Safety
    ///
    /// The slot is allocated, and so is slot 1.
    #[inline]
    pub(crate) unsafe fn place(&self, slot: usize) -> Place<F, A> {
        // SAFETY: the caller promises it.
        Place(unsafe { self.slots.get(slot) })
    }
}

/// The place of a slot in memory.
pub(crate) struct Place<F, A>(*mut Attempt<F, A>);

impl<F, A> Clone for Place<F, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F, A> Copy for Place<F, A> {}

impl<F, A> Place<F, A> {
    /// # Safety
    ///
    /// The slot is occupied, and stays so while the reference exists.
    #[inline]
    pub(crate) unsafe fn arg<'a>(self) -> &'a A {
        // SAFETY: the slot holds an attempt.
        unsafe { &(*self.0).arg }
    }

    /// Drops the attempt in this place.
    ///
    /// # Safety
    ///
    /// The slot is occupied, and the storage exists. The slot is free afterwards, also if this
    /// panics. No reference to the attempt exists.
    pub(crate) unsafe fn drop(self) {
        // SAFETY: the slot holds an attempt, and the caller treats it as free afterwards.
        unsafe { self.0.drop_in_place() };
    }

    /// Polls the future in this place.
    ///
    /// # Safety
    ///
    /// The slot is occupied. The storage exists, and the caller has it to itself.
    #[inline(always)]
    pub(crate) unsafe fn poll(self, cx: &mut Context<'_>) -> Poll<F::Output>
    where
        F: Future,
    {
        // SAFETY: the slot holds an attempt. Slots do not move, and `remove` and `drop` drop the
        // future in its slot, so it is pinned.
        let future = unsafe { Pin::new_unchecked(&mut (*self.0).future) };
        future.poll(cx)
    }

    /// Drops the future in this place and returns its argument. If the drop panics, the argument is
    /// dropped too.
    ///
    /// # Safety
    ///
    /// The slot is occupied. The storage exists, and the caller has it to itself. The slot is free
    /// afterwards, also if this panics.
    #[inline(always)]
    pub(crate) unsafe fn remove(self) -> A {
        // SAFETY: the slot holds an attempt, and the caller treats it as free afterwards. So the
        // argument is moved out once and the future dropped once.
        unsafe {
            let arg = ptr::read(&raw const (*self.0).arg);
            ptr::drop_in_place(&raw mut (*self.0).future);
            arg
        }
    }
}
