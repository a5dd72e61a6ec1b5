use core::{
    pin::Pin,
    task::{Context, Poll, Waker},
};

use super::BorrowedWaker;

/// Something other than an attempt that can wake the race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Timer,
    Source,
}

/// The running attempts of a race, as its poll loop sees them: on the heap or inline.
///
/// If a future panics while it is polled or dropped, the panic propagates. The set then no longer
/// holds this attempt, keeps all others, and can be used again.
#[expect(
    clippy::len_without_is_empty,
    reason = "the poll loop only needs the number"
)]
pub trait AttemptSet<F: Future, A> {
    /// Returns the number of running attempts.
    fn len(&self) -> usize;

    /// Returns `true` if there is no room for another attempt.
    fn is_full(&self) -> bool;

    /// Polls the attempts for one round, until one finishes. Returns `None` if the set is empty.
    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<(A, F::Output)>>;

    /// Adds an attempt and polls it.
    ///
    /// The caller checks that the set is not full, and that `poll_ready` returned `Pending` in the
    /// same poll of the race.
    fn push_and_poll(
        self: Pin<&mut Self>,
        arg: A,
        future: F,
        cx: &mut Context<'_>,
    ) -> Poll<(A, F::Output)>;

    /// Calls `f` with the argument of each running attempt, in any order.
    fn for_each(&self, f: impl FnMut(&A));

    /// Removes one attempt whose argument satisfies `is_it`. Drops its future and returns its
    /// argument.
    fn remove(self: Pin<&mut Self>, is_it: impl Fn(&A) -> bool) -> Option<A>;

    /// Returns a waker for `side` that wakes `parent`, and whether it was woken since the previous
    /// call for this side. Returns `None` if the set makes no wakers of its own.
    fn side_waker<'a>(
        self: Pin<&'a mut Self>,
        side: Side,
        parent: &Waker,
    ) -> Option<(BorrowedWaker<'a>, bool)>;
}
