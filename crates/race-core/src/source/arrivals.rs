use core::{
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;

use super::{Source, SourceTypes, opaque_debug};

/// A stream of arguments `A` that arrive over time, and a function that makes an attempt `F` of
/// each.
#[derive(Clone)]
pub struct Arrivals<S, R, A, F> {
    args: S,
    run: R,
    types: PhantomData<fn() -> (A, F)>,
}

impl<S, R, A, F> Arrivals<S, R, A, F> {
    pub(crate) fn new(args: S, run: R) -> Self {
        Self {
            args,
            run,
            types: PhantomData,
        }
    }
}

impl<S, R, A, F> SourceTypes for Arrivals<S, R, A, F> {
    type Candidate = A;
    type Arg = A;
    type Attempt = F;
}

impl<S, R, A, F> Source for Arrivals<S, R, A, F>
where
    S: Stream<Item = A> + Unpin,
    R: FnMut(&A) -> F,
    F: Future,
{
    type Output = F::Output;

    fn poll_candidate(&mut self, cx: &mut Context<'_>) -> Poll<Option<A>> {
        Pin::new(&mut self.args).poll_next(cx)
    }

    fn attempt(&mut self, arg: A) -> (A, F) {
        let future = (self.run)(&arg);
        (arg, future)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.args.size_hint()
    }
}

opaque_debug!(Arrivals<S, R, A, F>);
