use alloc::{boxed::Box, vec::Vec};
use core::{
    mem::MaybeUninit,
    ptr::{self, NonNull},
};

/// Memory for values that never move.
///
/// Slots are allocated in blocks of 1, 3, 4, 8, 16 and so on, so that the total is a power of two.
/// This type does not know which slots hold a value, and drops no value.
pub(crate) struct Slots<T> {
    /// The block with slot 0.
    first: Option<NonNull<T>>,
    /// For each row of slots: the address that slot 0 would have in the block of the row. Empty
    /// until slot 1 is allocated.
    rows: Vec<*mut T>,
}

// SAFETY: the memory is owned, and the values in it belong to the owner of the slots.
unsafe impl<T: Send> Send for Slots<T> {}
// SAFETY: as above; a shared reference only returns addresses.
unsafe impl<T: Sync> Sync for Slots<T> {}

impl<T> Slots<T> {
    pub(crate) fn new() -> Self {
        Self {
            first: None,
            rows: Vec::new(),
        }
    }

    /// Allocates slot 0 if it is not allocated.
    #[inline]
    pub(crate) fn reserve_first(&mut self) {
        self.first.get_or_insert_with(|| allocate(1));
    }

    /// Allocates a slot other than 0 if it is not allocated. All lower slots must be allocated.
    #[inline]
    pub(crate) fn reserve(&mut self, slot: usize) {
        if row(slot) >= self.rows.len() {
            self.add_row();
        }
    }

    #[cold]
    fn add_row(&mut self) {
        if let (true, Some(first)) = (self.rows.is_empty(), self.first) {
            // Slots 1 to 3 are two rows in one block.
            let base = allocate::<T>(3).as_ptr().wrapping_sub(1);
            self.rows.extend([first.as_ptr(), base, base]);
        } else {
            let slot = 1 << (self.rows.len() - 1);
            self.rows
                .push(allocate::<T>(slot).as_ptr().wrapping_sub(slot));
        }
    }

    /// Returns the address of slot 0.
    ///
    /// # Safety
    ///
    /// The slot is allocated.
    #[inline]
    pub(crate) unsafe fn first(&self) -> *mut T {
        // SAFETY: the caller promises it.
        unsafe { self.first.unwrap_unchecked() }.as_ptr()
    }

    /// Returns the address of a slot.
    ///
    /// # Safety
    ///
    /// The slot is allocated, and so is slot 1.
    #[inline]
    pub(crate) unsafe fn get(&self, slot: usize) -> *mut T {
        debug_assert!(row(slot) < self.rows.len());
        // SAFETY: `rows` has an address for each row up to that of the slot.
        unsafe { *self.rows.as_ptr().add(row(slot)) }.wrapping_add(slot)
    }
}

impl<T> Drop for Slots<T> {
    fn drop(&mut self) {
        if let Some(first) = self.first {
            // SAFETY: `reserve_first` allocated this block with this length, and it is freed once.
            unsafe { free(first.as_ptr(), 1) };
        }
        for (row, base) in self.rows.iter().enumerate() {
            let (slot, len) = match row {
                0 | 2 => continue, // freed above, and with the row before
                1 => (1, 3),
                _ => (1 << (row - 1), 1 << (row - 1)),
            };
            // SAFETY: `add_row` allocated this block with this length, and it is freed once.
            unsafe { free(base.wrapping_add(slot), len) };
        }
    }
}

/// Returns the row of a slot: 0 for slot 0, 1 for slot 1, 2 for slots 2 and 3, 3 for slots 4 to 7,
/// and so on.
#[inline]
fn row(slot: usize) -> usize {
    (2 * slot + 1).ilog2() as usize
}

fn allocate<T>(len: usize) -> NonNull<T> {
    let block: Box<[MaybeUninit<T>]> = Box::new_uninit_slice(len);
    NonNull::from(Box::leak(block)).cast()
}

/// # Safety
///
/// The block was allocated with this length, and is not used again.
unsafe fn free<T>(block: *mut T, len: usize) {
    let block = ptr::slice_from_raw_parts_mut(block.cast::<MaybeUninit<T>>(), len);
    // SAFETY: `allocate` made the block from a `Box`. `MaybeUninit` drops no value.
    drop(unsafe { Box::from_raw(block) });
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn each_slot_has_its_own_address_and_keeps_it() {
        let mut slots = Slots::<u64>::new();
        slots.reserve_first();
        slots.reserve(1);
        let addresses: Vec<_> = (0..1_000)
            .map(|slot| {
                slots.reserve(slot);
                // SAFETY: it was reserved.
                unsafe { slots.get(slot) }
            })
            .collect();
        let distinct: BTreeSet<_> = addresses.iter().copied().collect();
        assert_eq!(distinct.len(), 1_000);
        for (slot, address) in addresses.into_iter().enumerate() {
            // SAFETY: it was reserved.
            assert_eq!(unsafe { slots.get(slot) }, address);
        }
        // SAFETY: they were reserved.
        let (first, zeroth) = unsafe { (slots.first(), slots.get(0)) };
        assert_eq!((first, slots.rows.len()), (zeroth, 11));
    }
}
