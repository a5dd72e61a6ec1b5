//! The running attempts: on the heap, polled only when woken, or in place, polled all.
//!
//! This module alone has `unsafe` code. What it relies on, and who owns what when, is said in
//! `group` and `root` (waking), `heap` (the set) and `slots` (its memory).

#![expect(
    unsafe_code,
    reason = "pinning, wakers and memory by hand, each argued"
)]

mod inline;
mod inline_race;
mod set;

#[cfg(feature = "alloc")]
mod bits;
#[cfg(feature = "alloc")]
mod crowd;
#[cfg(feature = "alloc")]
mod group;
#[cfg(feature = "alloc")]
mod groups;
#[cfg(feature = "alloc")]
mod heap;
#[cfg(feature = "alloc")]
mod order;
#[cfg(feature = "alloc")]
mod rest;
#[cfg(feature = "alloc")]
mod root;
#[cfg(feature = "alloc")]
mod slots;
#[cfg(feature = "alloc")]
mod stack;

#[cfg(feature = "alloc")]
pub use heap::Attempts;
pub use inline_race::InlineRace;
#[allow(
    unreachable_pub,
    reason = "the crate root decides which of these it exports"
)]
pub use {
    inline::InlineAttempts,
    set::{AttemptSet, Side},
};

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, feature = "alloc", not(loom)))]
mod remove_tests;
