//! The running attempts of a race: on the heap, each with a waker of its own ([`Attempts`]) or all
//! with that of the task ([`OneWakerAttempts`]), or inline ([`InlineAttempts`]).
//!
//! All `unsafe` code of the crate is in this module. The invariants are documented in `wake` (who
//! may touch the parent's waker), `storage` (which slots hold an attempt), `memory`, and `visit` in
//! `ready_set` (pointers to the group that is polled). `inline` and `one_waker` only pin slots;
//! `flag_waker` refers to statics.

#![expect(
    unsafe_code,
    reason = "pinning, wakers and memory by hand; each block states its safety argument"
)]

mod borrowed_waker;
#[cfg(all(
    feature = "conformance",
    not(all(feature = "alloc", target_has_atomic = "ptr"))
))]
mod flag_waker;
mod inline;
mod round_robin;
mod set;
mod slot;

#[cfg(feature = "alloc")]
mod bit_set;
#[cfg(feature = "alloc")]
mod drop_all;
#[cfg(feature = "alloc")]
mod heap;
#[cfg(feature = "alloc")]
mod memory;
#[cfg(feature = "alloc")]
mod one_waker;
#[cfg(feature = "alloc")]
mod ready_set;
#[cfg(feature = "alloc")]
mod storage;
#[cfg(feature = "alloc")]
mod wake;

#[cfg(all(
    feature = "conformance",
    not(all(feature = "alloc", target_has_atomic = "ptr"))
))]
pub(crate) use flag_waker::flag_waker;
#[cfg(feature = "alloc")]
pub use heap::Attempts;
pub(crate) use inline::InlineAttempts;
#[cfg(feature = "alloc")]
pub(crate) use one_waker::OneWakerAttempts;
#[allow(
    unreachable_pub,
    reason = "the crate root decides which of these it exports"
)]
pub use {
    borrowed_waker::BorrowedWaker,
    set::{AttemptSet, Side},
};

#[cfg(all(test, loom))]
mod loom_tests;
