use core::{
    fmt, mem,
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;

pin_project! {
    /// Room for one attempt. Either both fields are `Some` or neither is.
    ///
    /// The future comes first and is dropped first, because it may use what its argument keeps
    /// alive.
    pub struct Slot<F, A> {
        #[pin]
        future: Option<F>,
        arg: Option<A>,
    }
}

impl<F, A> Slot<F, A> {
    pub(super) fn new() -> Self {
        Self {
            future: None,
            arg: None,
        }
    }

    /// Returns the argument of the attempt, if there is one.
    #[inline]
    pub(super) fn arg(&self) -> Option<&A> {
        self.arg.as_ref()
    }

    /// Moves an attempt into the empty slot.
    #[inline]
    pub(super) fn fill(self: Pin<&mut Self>, arg: A, future: F) {
        let mut this = self.project();
        this.future.set(Some(future));
        *this.arg = Some(arg);
    }
}

impl<F, A> fmt::Debug for Slot<F, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot")
            .field("is_occupied", &self.arg.is_some())
            .finish()
    }
}

/// An occupied slot, and the number of occupied slots. Empties the slot when dropped.
pub(super) struct Occupied<'a, F, A> {
    slot: Pin<&'a mut Slot<F, A>>,
    len: &'a mut usize,
}

impl<'a, F, A> Occupied<'a, F, A> {
    /// Returns `None` if the slot is empty.
    #[inline]
    pub(super) fn new(slot: Pin<&'a mut Slot<F, A>>, len: &'a mut usize) -> Option<Self> {
        slot.arg.is_some().then(|| Self { slot, len })
    }

    /// Empties the slot and returns the argument. If the drop of the future panics, the argument is
    /// dropped too.
    #[inline]
    pub(super) fn take(mut self) -> A {
        let mut slot = self.slot.as_mut().project();
        slot.future.set(None); // before its argument
        slot.arg.take().expect("a future has an argument")
    }

    /// Polls the future. Empties the slot if the future finishes or panics.
    #[inline]
    pub(super) fn poll(mut self, cx: &mut Context<'_>) -> Poll<(A, F::Output)>
    where
        F: Future,
    {
        let future = self.slot.as_mut().project().future.as_pin_mut();
        match future.expect("an argument has a future").poll(cx) {
            Poll::Ready(output) => Poll::Ready((self.take(), output)),
            Poll::Pending => {
                mem::forget(self);
                Poll::Pending
            }
        }
    }
}

impl<F, A> Drop for Occupied<'_, F, A> {
    #[inline]
    fn drop(&mut self) {
        *self.len -= 1;
        let mut slot = self.slot.as_mut().project();
        slot.future.set(None); // before its argument
        *slot.arg = None;
    }
}
