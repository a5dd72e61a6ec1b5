//! Lock-free waking: how a wake of one attempt reaches the poll that visits the attempt.
//!
//! Attempts are divided into *groups*. A group has one atomic word with a bit for each member. The
//! waker of a member is a pointer to the group, with the number of the bit in its low bits.
//!
//! - Waking a member sets its bit with one `fetch_or`. Only the thread that changes the word from
//!   zero notifies the next level; every later wake stops at the word.
//! - The first group is a *root*: the next level is the parent task, whose waker the root holds.
//! - All other groups share a second root. Its word is not a set of bits but the top of an
//!   intrusive stack of groups, linked by `next`. The thread that changes the word of a group from
//!   zero pushes the group; the thread that pushes on the empty stack wakes the parent.
//! - On an empty stack a wake pushes the member alone instead of setting its bit and pushing its
//!   group. The first wake then costs one compare-exchange, and visiting the member one swap.
//! - The poller swaps a word for zero, which takes all bits, or the whole stack, at once.
//!
//! A group is on the stack at most once: it is pushed only when its word changes from zero, and
//! only the poller sets the word to zero, after it took the stack and read `next`. The stack has no
//! ABA problem, because nothing pops a single entry.
//!
//! # Ownership of the parent's waker
//!
//! A root stores the parent's waker in `parent`, without a lock. The owner of this field is
//!
//! - while the word of the root is zero: no thread. The root is *armed*.
//! - after the word changed from zero: the thread that changed it, until this thread has taken the
//!   waker out and set `fired`.
//! - otherwise: the poller, the only thread that changes the word back to zero.
//!
//! The poller leaves the word zero only with a waker in `parent` and `fired` false. So at most one
//! thread at a time is between changing the word and setting `fired`, and no wake is lost: a wake
//! either changes the word from zero and wakes the parent, or finds it nonzero; then another
//! thread's wake of the parent, or the poller's next visit, is still to come.
//!
//! # Panics of the parent's waker
//!
//! The parent's waker is user code, which may panic. The poller calls it only before it takes a
//! word, or after it has noted every bit that it took. A panic then loses no wake.

mod group;
mod handle;
mod parent_waker;
mod raw_waker;
mod stack;
#[cfg(all(test, not(loom)))]
mod unfinished_wake;

#[cfg(all(test, not(loom)))]
pub(crate) use self::unfinished_wake::UnfinishedWake;
pub(crate) use self::{
    group::{ALL_BITS, BITS},
    handle::GroupHandle,
    parent_waker::{MEMBERS, RootGroup, STACK},
    stack::Entry,
};
