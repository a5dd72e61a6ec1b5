//! The heap memory of a timer.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use crate::{
    contenders::Timers,
    rounds::{Entrant, deadlines},
};

/// The system's allocator, with a counter.
pub(crate) struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);

/// No locked instruction, which would slow down contenders that allocate often: there is one
/// thread.
fn count(more: usize) {
    BYTES.store(BYTES.load(Relaxed).wrapping_add(more), Relaxed);
}

// SAFETY: every call is forwarded to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(layout.size().wrapping_neg());
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size.wrapping_sub(layout.size()));
        // SAFETY: the caller upholds the contract.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// Bytes per timer for each entrant, with a million timers armed.
pub(crate) fn beyond_the_values(entrants: &[Entrant], range: u64) -> Vec<f64> {
    let deadlines = deadlines(range, 0);
    entrants.iter().map(|it| (it.bytes)(&deadlines)).collect()
}

pub(crate) fn bytes<T: Timers>(deadlines: &[u64]) -> f64 {
    let before = BYTES.load(Relaxed);
    let mut timers = T::new();
    for (value, at) in deadlines.iter().enumerate() {
        timers.insert(*at, value as u64);
    }
    let bytes = BYTES.load(Relaxed) - before;
    (bytes - size_of_val(deadlines)) as f64 / deadlines.len() as f64
}
