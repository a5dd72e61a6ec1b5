use alloc::{boxed::Box, vec::Vec};
use core::{fmt, iter, pin::Pin};

use super::{
    round_robin::{RoundRobin, SlotMemory},
    slot::Slot,
};

/// Any number of running futures, on the heap.
pub(crate) type OneWakerAttempts<F, A> = RoundRobin<Blocks<F, A>>;

/// Slots on the heap, in blocks that double in size: the first block has one slot. Blocks never
/// move. Their slots are reused, and their memory is freed with the set.
pub struct Blocks<F, A>(Vec<Block<F, A>>);

type Block<F, A> = Pin<Box<[Slot<F, A>]>>;

/// Returns the block of a slot, and its position there.
#[inline]
fn place(index: usize) -> (usize, usize) {
    let block = (index + 1).ilog2();
    (block as usize, index + 1 - (1 << block))
}

impl<F, A> SlotMemory<F, A> for Blocks<F, A> {
    const GROWS: bool = true;

    fn new() -> Self {
        Self(Vec::new())
    }

    #[inline]
    fn count(&self) -> usize {
        (1 << self.0.len()) - 1
    }

    #[cold]
    fn grow(mut self: Pin<&mut Self>) {
        let size = 1 << self.0.len();
        let block: Box<[_]> = iter::repeat_with(|| Slot::Empty).take(size).collect();
        self.0.push(Box::into_pin(block));
    }

    #[inline]
    fn get(&self, index: usize) -> &Slot<F, A> {
        let (block, position) = place(index);
        &self.0[block][position]
    }

    #[inline]
    fn get_pinned(self: Pin<&mut Self>, index: usize) -> Pin<&mut Slot<F, A>> {
        let (block, position) = place(index);
        let block = self.get_mut().0[block].as_mut();
        // SAFETY: the slot is part of the block, so it is pinned with it: nothing moves a slot out
        // of a block, and dropping the block drops its slots in place.
        unsafe { block.map_unchecked_mut(|slots| &mut slots[position]) }
    }
}

impl<F, A> fmt::Debug for Blocks<F, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Blocks").field(&self.0.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_double_and_each_slot_keeps_its_address() {
        let mut blocks = Blocks::<u64, ()>::new();
        let mut addresses = Vec::new();
        for index in 0..15 {
            if index == blocks.count() {
                Pin::new(&mut blocks).grow();
            }
            addresses.push((&raw const *blocks.get(index)).addr());
        }
        assert_eq!((blocks.0.len(), blocks.count()), (4, 15));
        for (index, address) in addresses.iter().enumerate() {
            let pinned = Pin::new(&mut blocks).get_pinned(index);
            assert_eq!((&raw const *pinned).addr(), *address);
            assert!(!addresses[..index].contains(address));
        }
    }
}
