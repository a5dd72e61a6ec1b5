use alloc::{boxed::Box, vec::Vec};
use core::{mem::MaybeUninit, ptr::NonNull};

/// Memory for values that never move: blocks that double, of 1, 3, 4, 8, 16 and so on, so that all
/// together they have a power of two. It does not know which slots hold a value, and drops none.
pub(crate) struct Slots<T> {
    /// The block of slot 0.
    first: Option<NonNull<T>>,
    /// The blocks of slots 1 to 3, 4 to 7, 8 to 15 and so on.
    more: Vec<NonNull<T>>,
}

// SAFETY: it owns its memory, and the values in it are its owner's.
unsafe impl<T: Send> Send for Slots<T> {}

impl<T> Slots<T> {
    pub(crate) fn new() -> Self {
        Self {
            first: None,
            more: Vec::new(),
        }
    }

    /// Allocates a slot, if it was not. Slots must be reserved in order.
    #[inline]
    pub(crate) fn reserve(&mut self, slot: usize) {
        if slot == 0 {
            self.first.get_or_insert_with(|| allocate(1));
        } else if locate(slot).0 == self.more.len() {
            self.add_block();
        }
    }

    #[cold]
    fn add_block(&mut self) {
        self.more.push(allocate(size(self.more.len())));
    }

    /// Where a slot is that has been reserved.
    #[inline]
    pub(crate) fn get(&self, slot: usize) -> NonNull<T> {
        if slot == 0 {
            return self.first.expect("slot 0 has been reserved");
        }
        let (block, index) = locate(slot);
        // SAFETY: a block has as many slots as `locate` counts for it.
        unsafe { self.more[block].add(index) }
    }
}

impl<T> Drop for Slots<T> {
    fn drop(&mut self) {
        if let Some(first) = self.first {
            free(first, 1);
        }
        for (block, memory) in self.more.iter().enumerate() {
            free(*memory, size(block));
        }
    }
}

/// The block of a slot other than 0, and its index there.
#[inline]
fn locate(slot: usize) -> (usize, usize) {
    match slot.ilog2() as usize {
        0 | 1 => (0, slot - 1),
        log => (log - 1, slot - (1 << log)),
    }
}

fn size(block: usize) -> usize {
    match block {
        0 => 3,
        _ => 2 << block,
    }
}

fn allocate<T>(size: usize) -> NonNull<T> {
    let block: Box<[MaybeUninit<T>]> = Box::new_uninit_slice(size);
    NonNull::from(Box::leak(block)).cast()
}

fn free<T>(block: NonNull<T>, size: usize) {
    let block = NonNull::slice_from_raw_parts(block.cast::<MaybeUninit<T>>(), size);
    // SAFETY: `allocate` made it, with this size; its values are not dropped.
    drop(unsafe { Box::from_raw(block.as_ptr()) });
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn each_slot_is_a_place_of_its_own_and_stays_there() {
        let mut slots = Slots::<u64>::new();
        let places: Vec<_> = (0..1_000)
            .map(|slot| {
                slots.reserve(slot);
                slots.get(slot)
            })
            .collect();
        let distinct: BTreeSet<_> = places.iter().map(|place| place.as_ptr()).collect();
        assert_eq!(distinct.len(), 1_000);
        assert!((0..1_000).all(|slot| slots.get(slot) == places[slot]));
        assert_eq!(slots.more.len(), 9);
        assert_eq!(1 + (0..9).map(size).sum::<usize>(), 1_024);
    }
}
