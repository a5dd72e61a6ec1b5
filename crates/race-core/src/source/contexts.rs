use core::{
    marker::PhantomData,
    task::{Context, Poll},
};

use super::{Source, SourceTypes, opaque_debug};

/// A context `C`, and a function that makes an attempt `F` of it. The attempt returns the context
/// with its output, for the next one.
pub struct Contexts<C, R, F> {
    /// Absent while an attempt has it.
    context: Option<C>,
    run: R,
    index: usize,
    types: PhantomData<fn() -> F>,
}

impl<C, R, F> Contexts<C, R, F> {
    pub(crate) fn new(context: C, run: R) -> Self {
        Self {
            context: Some(context),
            run,
            index: 0,
            types: PhantomData,
        }
    }

    pub(crate) fn context_mut(&mut self) -> &mut Option<C> {
        &mut self.context
    }
}

impl<C, R, F> SourceTypes for Contexts<C, R, F> {
    type Candidate = ();
    type Arg = usize;
    type Attempt = F;
}

impl<C, R: FnMut(C) -> F, F: Future> Source for Contexts<C, R, F> {
    type Output = F::Output;

    fn poll_candidate(&mut self, _: &mut Context<'_>) -> Poll<Option<()>> {
        Poll::Ready(Some(()))
    }

    fn attempt(&mut self, (): ()) -> (usize, F) {
        let index = self.index;
        self.index += 1;
        let context = self.context.take();
        // One attempt runs at a time, and after one that lost the context none starts.
        let attempt = (self.run)(context.expect("the context is back before the next start"));
        (index, attempt)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}

opaque_debug!(Contexts<C, R, F>);
