//! The heap.

use core::{cell::UnsafeCell, mem::MaybeUninit};

use embedded_alloc::LlffHeap;

const SIZE: usize = 256 * 1024;

#[global_allocator]
static HEAP: LlffHeap = LlffHeap::empty();

struct Memory(UnsafeCell<MaybeUninit<[u8; SIZE]>>);

// SAFETY: only the heap uses it.
unsafe impl Sync for Memory {}

static MEMORY: Memory = Memory(UnsafeCell::new(MaybeUninit::uninit()));

/// Gives the heap its memory.
///
/// # Safety
///
/// Call it once, before anything allocates.
pub unsafe fn init() {
    // SAFETY: the caller calls it once, and nothing else refers to the memory.
    unsafe { HEAP.init(MEMORY.0.get() as usize, SIZE) };
}
