use core::{
    marker::PhantomData,
    task::{Context, Poll},
};

use super::{Source, SourceTypes, opaque_debug};

/// An iterator of futures `F`, or those of a tuple. The argument of each is its index.
#[derive(Clone)]
pub struct Of<I, F> {
    attempts: I,
    index: usize,
    types: PhantomData<fn() -> F>,
}

impl<I, F> Of<I, F> {
    pub(crate) fn new(attempts: I) -> Self {
        Self {
            attempts,
            index: 0,
            types: PhantomData,
        }
    }
}

impl<I, F> SourceTypes for Of<I, F> {
    type Candidate = F;
    type Arg = usize;
    type Attempt = F;
}

impl<I: Iterator<Item = F>, F: Future> Source for Of<I, F> {
    type Output = F::Output;

    fn poll_candidate(&mut self, _: &mut Context<'_>) -> Poll<Option<F>> {
        Poll::Ready(self.attempts.next())
    }

    fn attempt(&mut self, candidate: F) -> (usize, F) {
        let index = self.index;
        self.index += 1;
        (index, candidate)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.attempts.size_hint()
    }
}

opaque_debug!(Of<I, F>);
