use core::{
    marker::PhantomData,
    task::{Context, Poll},
};

use super::{Handles, Source, SourceTypes, opaque_debug};
use crate::AttemptHandle;

/// An iterator of arguments `A`, and a function that makes an attempt `F` of each and of its
/// handle.
pub struct Committing<I, R, A, F> {
    args: I,
    run: R,
    handles: Handles,
    types: PhantomData<fn() -> (A, F)>,
}

impl<I, R, A, F> Committing<I, R, A, F> {
    pub(crate) fn new(args: I, run: R) -> Self {
        Self {
            args,
            run,
            handles: Handles::new(),
            types: PhantomData,
        }
    }
}

impl<I, R, A, F> SourceTypes for Committing<I, R, A, F> {
    type Candidate = A;
    type Arg = A;
    type Attempt = F;
}

impl<I, R, A, F> Source for Committing<I, R, A, F>
where
    I: Iterator<Item = A>,
    R: FnMut(&A, AttemptHandle) -> F,
    F: Future,
{
    type Output = F::Output;

    fn poll_candidate(&mut self, _: &mut Context<'_>) -> Poll<Option<A>> {
        Poll::Ready(self.args.next())
    }

    fn attempt(&mut self, arg: A) -> (A, F) {
        let future = (self.run)(&arg, self.handles.handle());
        (arg, future)
    }

    fn handles(&mut self) -> Option<&mut Handles> {
        Some(&mut self.handles)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.args.size_hint()
    }
}

opaque_debug!(Committing<I, R, A, F>);
