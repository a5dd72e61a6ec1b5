use alloc::alloc::{alloc, dealloc, handle_alloc_error};
use core::{alloc::Layout, ptr::NonNull};

pub(super) const TOO_LARGE: &str = "the memory of the set would exceed `isize::MAX` bytes";

/// The place and the size of a block of slots.
#[derive(Clone, Copy)]
pub(super) struct Block {
    /// The number of its first slot.
    pub(super) slot: usize,
    /// The number of its slots, at least 1.
    pub(super) len: usize,
    /// The number of addresses in the table at its end.
    pub(super) table: usize,
}

impl Block {
    /// Returns the slot after the last one.
    #[inline]
    pub(super) fn end(self) -> usize {
        self.slot + self.len
    }

    /// Allocates the block and returns the address of its first slot.
    ///
    /// # Panics
    ///
    /// Panics if the block would exceed `isize::MAX` bytes.
    #[inline]
    pub(super) fn allocate<T>(self) -> NonNull<T> {
        let (layout, _) = self.layout::<T>();
        if layout.size() == 0 {
            return NonNull::dangling();
        }
        // SAFETY: the size is not zero.
        let address = unsafe { alloc(layout) };
        NonNull::new(address.cast()).unwrap_or_else(|| handle_alloc_error(layout))
    }

    /// # Safety
    ///
    /// `allocate` of an equal block returned the address, and the memory is not used again.
    #[inline]
    pub(super) unsafe fn free<T>(self, address: NonNull<T>) {
        let (layout, _) = self.layout::<T>();
        if layout.size() != 0 {
            // SAFETY: `allocate` allocated the memory with this layout.
            unsafe { dealloc(address.as_ptr().cast(), layout) };
        }
    }

    /// Returns the address of the table.
    ///
    /// # Safety
    ///
    /// `allocate` of an equal block returned the address, and the block has a table.
    #[inline]
    pub(super) unsafe fn table_in<T>(self, address: NonNull<T>) -> NonNull<*mut T> {
        let (_, offset) = self.layout::<T>();
        // SAFETY: the table is at this offset in the block.
        unsafe { address.byte_add(offset) }.cast()
    }

    /// Returns the layout of the block, and the offset of the table.
    #[inline]
    fn layout<T>(self) -> (Layout, usize) {
        let table = Layout::array::<*mut T>(self.table);
        let layout = Layout::array::<T>(self.len).and_then(|slots| {
            if self.table == 0 {
                Ok((slots, 0))
            } else {
                slots.extend(table?)
            }
        });
        layout.expect(TOO_LARGE)
    }
}
