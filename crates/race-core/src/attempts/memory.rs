mod block;

use core::{mem, ptr::NonNull};

use self::block::{Block, TOO_LARGE};

/// Memory for values that never move.
///
/// Slots are divided into *rows*, each as long as all before it together: slot 0, slot 1, slots 2
/// and 3, slots 4 to 7, and so on. They are allocated in blocks: `first_rows` rows in the first
/// one, then each row in one of its own. If the first block has one slot, the next two rows share a
/// block.
///
/// A *table* has an address for each row. It is at the end of a block, so it takes no allocation of
/// its own: first of the block with slot 1, and each time a row does not fit in it, a table of
/// four times the size at the end of the block of this row takes its place.
///
/// This type does not know which slots hold a value, and drops no value.
pub(crate) struct Slots<T> {
    /// The block with slot 0.
    first: Option<NonNull<T>>,
    /// For each row: the address that slot 0 would have in its block. Dangling until slot 1 is
    /// allocated.
    table: NonNull<*mut T>,
    /// The number of slots in the rows of the table; 0 until slot 1 is allocated.
    capacity: usize,
    first_rows: u8,
}

// SAFETY: the memory is owned, and the values in it belong to the owner of the slots.
unsafe impl<T: Send> Send for Slots<T> {}
// SAFETY: as above; a shared reference only returns addresses.
unsafe impl<T: Sync> Sync for Slots<T> {}

impl<T> Slots<T> {
    #[inline]
    pub(crate) fn new() -> Self {
        Self {
            first: None,
            table: NonNull::dangling(),
            capacity: 0,
            first_rows: 1,
        }
    }

    /// Allocates slots in a single block. Their number is rounded up to a power of two.
    ///
    /// # Panics
    ///
    /// Panics if the block would exceed `isize::MAX` bytes.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        let mut slots = Self::new();
        if capacity > 0 {
            let rounded = capacity.checked_next_power_of_two();
            let rounded = rounded.filter(|&it| it <= isize::MAX as usize);
            slots.first_rows = row_of(rounded.expect(TOO_LARGE)) as u8;
            let block = slots.block(0);
            let address = block.allocate();
            slots.first = Some(address);
            if block.table > 0 {
                // SAFETY: the block has just been allocated.
                unsafe { slots.add_rows(block, address) };
            }
        }
        slots
    }

    /// Allocates slot 0 if it is not allocated.
    #[inline]
    pub(crate) fn reserve_first(&mut self) {
        self.first.get_or_insert_with(|| FIRST.allocate());
    }

    /// Allocates a slot other than 0 if it is not allocated. All lower slots must be allocated.
    #[inline]
    pub(crate) fn reserve(&mut self, slot: usize) {
        if slot >= self.capacity {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let block = self.block(self.rows().max(1));
        let address = block.allocate();
        // SAFETY: the block has just been allocated.
        unsafe { self.add_rows(block, address) };
    }

    /// Adds the rows of a block to the table, which moves to this block if it has one.
    ///
    /// # Safety
    ///
    /// The block was allocated at the address. It begins where the last one ends.
    unsafe fn add_rows(&mut self, block: Block, address: NonNull<T>) {
        if block.table > 0 {
            // SAFETY: the block was allocated with a table, which is larger than the former one.
            unsafe {
                let table = block.table_in(address);
                match (self.rows(), self.first) {
                    (0, Some(first)) => table.write(first.as_ptr()),
                    (rows, _) => table.copy_from_nonoverlapping(self.table, rows),
                }
                self.table = table;
            }
        }
        let base = address.as_ptr().wrapping_sub(block.slot);
        for row in row_of(block.slot)..row_of(block.end()) {
            // SAFETY: the table has room for all rows: `block` makes a larger one before it is full.
            unsafe { self.table.add(row).write(base) };
        }
        self.capacity = block.end();
    }

    /// Returns the number of rows in the table.
    #[inline]
    fn rows(&self) -> usize {
        match self.capacity {
            0 => 0,
            capacity => row_of(capacity),
        }
    }

    /// Returns the block of a row.
    #[inline]
    fn block(&self, row: usize) -> Block {
        let first_rows = usize::from(self.first_rows);
        let first_table = first_rows.next_power_of_two().max(4);
        if row == 0 && first_rows == 1 {
            FIRST
        } else if row < first_rows {
            Block {
                slot: 0,
                len: 1 << (first_rows - 1),
                table: first_table,
            }
        } else if first_rows == 1 && row < 3 {
            Block {
                slot: 1,
                len: 3,
                table: first_table,
            }
        } else {
            let needs_table = row == first_table || row == 4 * first_table;
            Block {
                slot: 1 << (row - 1),
                len: 1 << (row - 1),
                table: if needs_table { 4 * row } else { 0 },
            }
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
        debug_assert!(slot < self.capacity);
        // SAFETY: the table has an address for each row up to that of the slot.
        unsafe { self.table.add(row_of(slot)).read() }.wrapping_add(slot)
    }
}

impl<T> Drop for Slots<T> {
    fn drop(&mut self) {
        match (self.first, self.capacity) {
            (None, _) => {}
            // SAFETY: the block was allocated, and is freed once.
            (Some(first), 0) => unsafe { FIRST.free(first) },
            // SAFETY: the slots are not used again.
            (Some(first), _) => unsafe { self.free_blocks(first) },
        }
    }
}

impl<T> Slots<T> {
    /// Frees the blocks of slots of which there is a table.
    ///
    /// # Safety
    ///
    /// The slots are not used again. `first` is the address of slot 0.
    #[inline(never)]
    unsafe fn free_blocks(&self, first: NonNull<T>) {
        // The block with the table is freed last. It is the last one that has a table.
        let mut last = (self.block(0), first);
        let mut slot = last.0.end();
        while slot < self.capacity {
            let row = row_of(slot);
            // SAFETY: the table has an address for each row below `capacity`.
            let base = unsafe { self.table.add(row).read() };
            // SAFETY: the base of a row plus its first slot is the address of its block.
            let address = unsafe { NonNull::new_unchecked(base.wrapping_add(slot)) };
            let mut other = (self.block(row), address);
            slot = other.0.end();
            if other.0.table > 0 {
                mem::swap(&mut last, &mut other);
            }
            // SAFETY: the block was allocated at this address, and is freed once.
            unsafe { other.0.free(other.1) };
        }
        // SAFETY: as above. The table is not used again.
        unsafe { last.0.free(last.1) };
    }
}

/// The first block of slots whose number was not given.
const FIRST: Block = Block {
    slot: 0,
    len: 1,
    table: 0,
};

/// Returns the row of a slot: 0 for slot 0, 1 for slot 1, 2 for slots 2 and 3, 3 for slots 4 to 7,
/// and so on.
#[inline]
fn row_of(slot: usize) -> usize {
    (2 * slot + 1).ilog2() as usize
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use alloc::{collections::BTreeMap, vec::Vec};

    /// Reserves 1,000 slots and checks that no two of them share memory and that none moves.
    fn fill<T>(slots: &mut Slots<T>) {
        slots.reserve_first();
        slots.reserve(1);
        let addresses: Vec<_> = (0..1_000)
            .map(|slot| {
                slots.reserve(slot);
                // SAFETY: it was reserved.
                unsafe { slots.get(slot) }
            })
            .collect();
        for (slot, address) in addresses.iter().enumerate() {
            // SAFETY: it was reserved.
            assert_eq!(unsafe { slots.get(slot) }, *address);
        }
        // SAFETY: it was reserved.
        assert_eq!(unsafe { slots.first() }, addresses[0]);
        let table = (slots.table.addr().get(), 11 * size_of::<*mut T>());
        let values = addresses.iter().map(|it| (it.addr(), size_of::<T>()));
        let mut end = 0;
        for (address, size) in values.chain([table]).collect::<BTreeMap<_, _>>() {
            assert!(address >= end, "two places share memory");
            end = address + size;
        }
        assert!(size_of::<T>() == 0 || slots.capacity == 1_024);
    }

    #[test]
    fn each_slot_has_its_own_address_and_keeps_it() {
        fill(&mut Slots::<u64>::new());
        fill(&mut Slots::<[u8; 3]>::new());
        fill(&mut Slots::<u128>::new());
    }

    #[test]
    fn slots_beyond_the_capacity_are_allocated_later() {
        for capacity in [0, 1, 2, 3, 4, 5, 8, 9, 100, 128, 500, 1_000] {
            let mut slots = Slots::<u64>::with_capacity(capacity);
            let rounded = capacity.next_power_of_two();
            assert_eq!(slots.capacity, if capacity < 2 { 0 } else { rounded });
            fill(&mut slots);
        }
    }

    #[test]
    fn values_without_a_size_take_no_memory() {
        let mut slots = Slots::<()>::with_capacity(usize::MAX / 4);
        slots.reserve(1_000);
        // SAFETY: it was reserved.
        assert!(!unsafe { slots.get(1_000) }.is_null());
        let mut slots = Slots::<()>::new();
        slots.reserve_first();
        (1..1_000).for_each(|slot| slots.reserve(slot));
    }

    #[test]
    #[should_panic(expected = "would exceed `isize::MAX` bytes")]
    fn capacity_that_no_memory_can_hold_panics() {
        let _slots = Slots::<u64>::with_capacity(usize::MAX);
    }
}
