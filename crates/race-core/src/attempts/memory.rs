use alloc::{boxed::Box, vec::Vec};
use core::{mem::MaybeUninit, ptr::NonNull};

/// Memory for values that never move.
///
/// Slots are allocated in blocks of 1, 3, 4, 8, 16 and so on, so that the total is a power of two.
/// This type does not know which slots hold a value, and drops no value.
pub(crate) struct Slots<T> {
    /// The block with slot 0.
    first: Option<NonNull<T>>,
    /// The blocks with slots 1 to 3, 4 to 7, 8 to 15 and so on.
    more: Vec<NonNull<T>>,
}

// SAFETY: the memory is owned, and the values in it belong to the owner of the slots.
unsafe impl<T: Send> Send for Slots<T> {}

impl<T> Slots<T> {
    pub(crate) fn new() -> Self {
        Self {
            first: None,
            more: Vec::new(),
        }
    }

    /// Allocates a slot if it is not allocated. All lower slots must be allocated.
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
        self.more.push(allocate(block_len(self.more.len())));
    }

    /// Returns the address of an allocated slot.
    #[inline]
    pub(crate) fn get(&self, slot: usize) -> NonNull<T> {
        if slot == 0 {
            return self.first.expect("slot 0 is allocated");
        }
        let (block, index) = locate(slot);
        // SAFETY: `index` is less than the length of the block, by the definition of `locate`.
        unsafe { self.more[block].add(index) }
    }
}

impl<T> Drop for Slots<T> {
    fn drop(&mut self) {
        if let Some(first) = self.first {
            free(first, 1);
        }
        for (block, memory) in self.more.iter().enumerate() {
            free(*memory, block_len(block));
        }
    }
}

/// Returns the block of a slot other than 0, as an index of `more`, and the index in the block.
#[inline]
fn locate(slot: usize) -> (usize, usize) {
    match slot.ilog2() as usize {
        0 | 1 => (0, slot - 1),
        log => (log - 1, slot - (1 << log)),
    }
}

fn block_len(block: usize) -> usize {
    match block {
        0 => 3,
        _ => 2 << block,
    }
}

fn allocate<T>(len: usize) -> NonNull<T> {
    let block: Box<[MaybeUninit<T>]> = Box::new_uninit_slice(len);
    NonNull::from(Box::leak(block)).cast()
}

fn free<T>(block: NonNull<T>, len: usize) {
    let block = NonNull::slice_from_raw_parts(block.cast::<MaybeUninit<T>>(), len);
    // SAFETY: `allocate` made this block with this length, and it is freed once, by `drop`.
    // `MaybeUninit` drops no value.
    drop(unsafe { Box::from_raw(block.as_ptr()) });
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn each_slot_has_its_own_address_and_keeps_it() {
        let mut slots = Slots::<u64>::new();
        let addresses: Vec<_> = (0..1_000)
            .map(|slot| {
                slots.reserve(slot);
                slots.get(slot)
            })
            .collect();
        let distinct: BTreeSet<_> = addresses.iter().map(|address| address.as_ptr()).collect();
        assert_eq!(distinct.len(), 1_000);
        assert!((0..1_000).all(|slot| slots.get(slot) == addresses[slot]));
        assert_eq!(slots.more.len(), 9);
        assert_eq!(1 + (0..9).map(block_len).sum::<usize>(), 1_024);
    }
}
