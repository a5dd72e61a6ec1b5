use core::{
    mem::ManuallyDrop,
    pin::Pin,
    task::{Context, Poll, Waker},
};

/// What else a race waits for, besides its attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aside {
    Timer,
    Source,
}

/// The attempts that run, as the poll loop sees them: on the heap, or in place.
pub trait Running<F: Future, A> {
    /// How many run.
    fn len(&self) -> usize;

    /// Whether there is no room for another.
    fn is_full(&self) -> bool;

    /// One round: the next that has finished, or `None` if none run.
    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<(A, F::Output)>>;

    /// Adds one and polls it, in a poll in which `poll_ready` was pending, when there is room.
    fn push_and_poll(
        self: Pin<&mut Self>,
        arg: A,
        future: F,
        cx: &mut Context<'_>,
    ) -> Poll<(A, F::Output)>;

    /// Shows the arguments of those that run, in any order.
    fn each(&self, show: impl FnMut(&A));

    /// Takes out one that is recognised by its argument, and drops its future.
    fn remove(self: Pin<&mut Self>, is_it: impl Fn(&A) -> bool) -> Option<A>;

    /// A waker of its own for the timer or the source, which wakes `parent`, and whether it was woken
    /// since this was last asked; `None` if all share the parent's waker.
    fn aside(
        self: Pin<&mut Self>,
        aside: Aside,
        parent: &Waker,
    ) -> Option<(ManuallyDrop<Waker>, bool)>;
}
