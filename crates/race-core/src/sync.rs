//! Atomics from `core`, `portable-atomic` or loom, and the `Arc` that fits them.

#[cfg(not(feature = "portable-atomic"))]
pub(crate) use alloc::sync::Arc;
#[cfg(feature = "portable-atomic")]
pub(crate) use portable_atomic_util::Arc;

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};

#[cfg(all(not(loom), feature = "portable-atomic"))]
pub(crate) use portable_atomic::{AtomicPtr, AtomicUsize, Ordering, fence};

#[cfg(all(not(loom), not(feature = "portable-atomic")))]
pub(crate) use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};

/// Tells the processor, or loom, that this thread waits for another one.
pub(crate) fn spin_hint() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(not(loom))]
    core::hint::spin_loop();
}
