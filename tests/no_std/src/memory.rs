//! Memory that is handed out once.

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

// SAFETY: `used` hands each part of the memory out once.
unsafe impl Sync for Bump {}

// SAFETY: each part is aligned as asked, inside the memory, and handed out once.
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
