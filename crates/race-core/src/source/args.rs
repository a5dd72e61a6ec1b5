use core::{
    marker::PhantomData,
    task::{Context, Poll},
};

use super::{Source, SourceTypes, opaque_debug};

/// An iterator of arguments `A`, and a function that makes an attempt `F` of each.
#[derive(Clone)]
pub struct Args<I, R, A, F> {
    args: I,
    run: R,
    types: PhantomData<fn() -> (A, F)>,
}

impl<I, R, A, F> Args<I, R, A, F> {
    pub(crate) fn new(args: I, run: R) -> Self {
        Self {
            args,
            run,
            types: PhantomData,
        }
    }
}

impl<I, R, A, F> SourceTypes for Args<I, R, A, F> {
    type Candidate = A;
    type Arg = A;
    type Attempt = F;
}

impl<I, R, A, F> Source for Args<I, R, A, F>
where
    I: Iterator<Item = A>,
    R: FnMut(&A) -> F,
    F: Future,
{
    type Output = F::Output;

    fn poll_candidate(&mut self, _: &mut Context<'_>) -> Poll<Option<A>> {
        Poll::Ready(self.args.next())
    }

    fn attempt(&mut self, arg: A) -> (A, F) {
        let future = (self.run)(&arg);
        (arg, future)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.args.size_hint()
    }
}

opaque_debug!(Args<I, R, A, F>);
