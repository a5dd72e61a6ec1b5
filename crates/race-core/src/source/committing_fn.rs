use core::{
    marker::PhantomData,
    task::{Context, Poll},
};

use super::{Handles, Source, SourceTypes, opaque_debug};
use crate::AttemptHandle;

/// A function that makes an attempt `F` of its handle, when the attempt starts. Endless.
pub struct CommittingFn<R, F> {
    run: R,
    handles: Handles,
    types: PhantomData<fn() -> F>,
}

impl<R, F> CommittingFn<R, F> {
    pub(crate) fn new(run: R) -> Self {
        Self {
            run,
            handles: Handles::new(),
            types: PhantomData,
        }
    }
}

impl<R, F> SourceTypes for CommittingFn<R, F> {
    type Candidate = ();
    type Arg = usize;
    type Attempt = F;
}

impl<R: FnMut(AttemptHandle) -> F, F: Future> Source for CommittingFn<R, F> {
    type Output = F::Output;

    fn poll_candidate(&mut self, _: &mut Context<'_>) -> Poll<Option<()>> {
        Poll::Ready(Some(()))
    }

    fn attempt(&mut self, (): ()) -> (usize, F) {
        let handle = self.handles.handle();
        (handle.index(), (self.run)(handle))
    }

    fn handles(&mut self) -> Option<&mut Handles> {
        Some(&mut self.handles)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}

opaque_debug!(CommittingFn<R, F>);
