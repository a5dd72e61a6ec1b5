//! A bump allocator.

use core::{
    alloc::{GlobalAlloc, Layout},
    cell::UnsafeCell,
    ptr,
    sync::atomic::{AtomicUsize, Ordering},
};

const SIZE: usize = 64 * 1024;

/// Never frees.
struct Bump {
    memory: UnsafeCell<[u8; SIZE]>,
    used: AtomicUsize,
}

// SAFETY: `used` gives each part of the memory to one caller.
unsafe impl Sync for Bump {}

// SAFETY: each part is aligned as requested, inside the memory, and given out once.
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let start = self.memory.get() as usize;
        let size = layout.size() + layout.align();
        let used = self.used.fetch_add(size, Ordering::Relaxed);
        if used + size > SIZE {
            return ptr::null_mut();
        }
        (start + used).next_multiple_of(layout.align()) as *mut u8
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static MEMORY: Bump = Bump {
    memory: UnsafeCell::new([0; SIZE]),
    used: AtomicUsize::new(0),
};
