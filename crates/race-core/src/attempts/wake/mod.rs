//! Lock-free waking: how a wake of one attempt reaches the poll that visits the attempt.
//!
//! Attempts are divided into *groups*. A group has one atomic word with a bit for each member. The
//! waker of a member is a pointer to the group, with the number of the bit in its low bits.
//!
//! The first group is also the *root*. Its word `top` is the top of an intrusive stack of woken
//! groups, linked by `next`, above at most one member that was pushed by itself. It also has a flag
//! for each of the timer and the source. The thread that changes `top` from zero wakes the parent
//! task, whose waker the root holds; every later wake leaves that to it.
//!
//! - While `top` is zero, a wake pushes the member by itself, with one compare-exchange. The poller
//!   takes it with one swap. This is the usual case, at any number of attempts.
//! - Otherwise a wake sets the bit of its member. The thread that changes the word of a group from
//!   zero pushes the group; every later wake of the group stops at the word.
//! - A wake of the timer or the source sets its flag.
//! - The poller swaps `top` for zero, which takes the flags and the whole stack, and then the word
//!   of each group on the stack.
//!
//! A group is on the stack at most once: it is pushed only when its word changes from zero, and
//! only the poller sets the word to zero, after it took the stack and read `next`. The stack has no
//! ABA problem, because nothing pops a single entry.
//!
//! # Ownership of the parent's waker
//!
//! The root stores the parent's waker in `parent`, without a lock. The owner of this field is
//!
//! - while `top` is zero: no thread. The root is *armed*.
//! - after `top` changed from zero: the thread that changed it, until this thread has taken the
//!   waker.
//! - otherwise: the poller, the only thread that changes `top` back to zero.
//!
//! The poller leaves `top` zero only with a waker in `parent`; so while `parent` is empty, `top` is
//! not zero, and the poller owns `parent`. At most one thread at a time is between changing `top`
//! from zero and taking the waker, and no wake is lost: a wake either changes `top` from zero and
//! wakes the parent, or finds it nonzero; then another thread's wake of the parent, or the poller's
//! next visit, is still to come.
//!
//! # Panics of the parent's waker
//!
//! The parent's waker is user code, which may panic. The poller calls it only before it takes what
//! was woken. A panic then loses no wake.

mod bits;
mod group;
mod handle;
mod parent;
mod raw_waker;
mod root;
mod stack;
#[cfg(all(test, not(loom)))]
mod unfinished_wake;

#[cfg(all(test, not(loom)))]
pub(crate) use self::unfinished_wake::UnfinishedWake;
pub(crate) use self::{
    bits::{ALL_BITS, BITS},
    handle::GroupHandle,
    root::Root,
    stack::{Entry, Top},
};
