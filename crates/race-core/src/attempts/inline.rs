use core::{array, pin::Pin};

use super::{
    round_robin::{RoundRobin, SlotMemory},
    slot::Slot,
};

/// Up to `N` running futures, stored inline. Does not compile with an `N` of zero.
pub(crate) type InlineAttempts<F, A, const N: usize> = RoundRobin<[Slot<F, A>; N]>;

impl<F, A, const N: usize> SlotMemory<F, A> for [Slot<F, A>; N] {
    const GROWS: bool = false;

    fn new() -> Self {
        const { assert!(N > 0, "a race needs room for one attempt") };
        array::from_fn(|_| Slot::Empty)
    }

    #[inline]
    fn count(&self) -> usize {
        N
    }

    fn grow(self: Pin<&mut Self>) {}

    #[inline]
    fn get(&self, index: usize) -> &Slot<F, A> {
        &self[index]
    }

    #[inline]
    fn get_pinned(self: Pin<&mut Self>, index: usize) -> Pin<&mut Slot<F, A>> {
        // SAFETY: the slot is part of the array, so it is pinned with it: nothing moves a slot out
        // of a pinned array, and dropping the array drops its slots in place.
        unsafe { self.map_unchecked_mut(|slots| &mut slots[index]) }
    }
}
