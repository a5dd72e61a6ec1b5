//! Where the candidates of a race come from.
//!
//! `Race::of`, `Race::new` and `Race::from_stream` make these; their names serve to write down the
//! type of a race, as in a field of a struct.

use core::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;

/// Gives a race its candidates one at a time, and makes an attempt of each.
///
/// A function can return or take `Race<impl Source<Output = Answer>, T>` and leave the rest open.
pub trait Source {
    /// What waits for its start.
    type Candidate;
    /// What comes back beside the output.
    type Arg;
    /// What an attempt gives.
    type Output;
    /// What runs.
    type Attempt: Future<Output = Self::Output>;

    /// The next candidate; `None` if there will be no more. It is not asked again after `None`, nor
    /// after it has panicked.
    fn poll_candidate(&mut self, cx: &mut Context<'_>) -> Poll<Option<Self::Candidate>>;

    /// Makes an attempt of a candidate; what it borrows must not be the argument it returns.
    fn attempt(&mut self, candidate: Self::Candidate) -> (Self::Arg, Self::Attempt);

    /// Bounds on how many candidates are still to come, as for iterators.
    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, None)
    }
}

/// An iterator of futures; the argument of each is its place in the iterator.
#[derive(Clone)]
pub struct Of<I> {
    attempts: I,
    place: usize,
}

impl<I> Of<I> {
    pub(crate) fn new(attempts: I) -> Self {
        Self { attempts, place: 0 }
    }
}

impl<I: Iterator<Item: Future>> Source for Of<I> {
    type Candidate = I::Item;
    type Arg = usize;
    type Output = <I::Item as Future>::Output;
    type Attempt = I::Item;

    fn poll_candidate(&mut self, _: &mut Context<'_>) -> Poll<Option<I::Item>> {
        Poll::Ready(self.attempts.next())
    }

    fn attempt(&mut self, candidate: I::Item) -> (usize, I::Item) {
        let place = self.place;
        self.place += 1;
        (place, candidate)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.attempts.size_hint()
    }
}

/// An iterator of arguments, and the function that makes an attempt of each.
#[derive(Clone)]
pub struct Args<I, R> {
    args: I,
    run: R,
}

impl<I, R> Args<I, R> {
    pub(crate) fn new(args: I, run: R) -> Self {
        Self { args, run }
    }
}

impl<I, R, F> Source for Args<I, R>
where
    I: Iterator,
    R: FnMut(&I::Item) -> F,
    F: Future,
{
    type Candidate = I::Item;
    type Arg = I::Item;
    type Output = F::Output;
    type Attempt = F;

    fn poll_candidate(&mut self, _: &mut Context<'_>) -> Poll<Option<I::Item>> {
        Poll::Ready(self.args.next())
    }

    fn attempt(&mut self, arg: I::Item) -> (I::Item, F) {
        let future = (self.run)(&arg);
        (arg, future)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.args.size_hint()
    }
}

/// A stream of arguments that arrive over time, and the function that makes an attempt of each.
#[derive(Clone)]
pub struct Arrivals<S, R> {
    args: S,
    run: R,
}

impl<S, R> Arrivals<S, R> {
    pub(crate) fn new(args: S, run: R) -> Self {
        Self { args, run }
    }
}

impl<S, R, F> Source for Arrivals<S, R>
where
    S: Stream + Unpin,
    R: FnMut(&S::Item) -> F,
    F: Future,
{
    type Candidate = S::Item;
    type Arg = S::Item;
    type Output = F::Output;
    type Attempt = F;

    fn poll_candidate(&mut self, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        Pin::new(&mut self.args).poll_next(cx)
    }

    fn attempt(&mut self, arg: S::Item) -> (S::Item, F) {
        let future = (self.run)(&arg);
        (arg, future)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.args.size_hint()
    }
}

macro_rules! opaque_debug {
    ($($name:ident<$($param:ident),*>;)*) => {$(
        impl<$($param),*> fmt::Debug for $name<$($param),*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )*};
}

opaque_debug! { Of<I>; Args<I, R>; Arrivals<S, R>; }
