use core::{
    marker::PhantomData,
    task::{Context, Poll},
};

use super::{Source, SourceTypes, opaque_debug};

/// A function that makes an attempt `F` of each index, when the attempt starts. Endless.
#[derive(Clone)]
pub struct Repeat<R, F> {
    run: R,
    index: usize,
    types: PhantomData<fn() -> F>,
}

impl<R, F> Repeat<R, F> {
    pub(crate) fn new(run: R) -> Self {
        Self {
            run,
            index: 0,
            types: PhantomData,
        }
    }
}

impl<R, F> SourceTypes for Repeat<R, F> {
    type Candidate = ();
    type Arg = usize;
    type Attempt = F;
}

impl<R: FnMut(usize) -> F, F: Future> Source for Repeat<R, F> {
    type Output = F::Output;

    fn poll_candidate(&mut self, _: &mut Context<'_>) -> Poll<Option<()>> {
        Poll::Ready(Some(()))
    }

    fn attempt(&mut self, (): ()) -> (usize, F) {
        let index = self.index;
        let attempt = (self.run)(index);
        self.index += 1; // not after a panic, so that it stays the index of the attempt
        (index, attempt)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}

opaque_debug!(Repeat<R, F>);
