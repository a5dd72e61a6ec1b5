use core::{
    fmt, mem,
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;

pin_project! {
    /// Room for one attempt.
    #[project = SlotProjection]
    #[project_replace = SlotReplaced]
    pub enum Slot<F, A> {
        Empty,
        // The future comes first and is dropped first, because it may use what its argument keeps
        // alive.
        Occupied {
            #[pin]
            future: F,
            arg: A,
        },
    }
}

impl<F, A> Slot<F, A> {
    /// Returns the argument of the attempt, if there is one.
    #[inline]
    pub(super) fn arg(&self) -> Option<&A> {
        match self {
            Self::Empty => None,
            Self::Occupied { arg, .. } => Some(arg),
        }
    }
}

impl<F, A> fmt::Debug for Slot<F, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "Empty",
            Self::Occupied { .. } => "Occupied",
        })
    }
}

/// A slot of a set, and the number of its occupied slots.
pub(super) struct SlotMut<'a, F, A> {
    pub(super) slot: Pin<&'a mut Slot<F, A>>,
    pub(super) len: &'a mut usize,
}

impl<F, A> SlotMut<'_, F, A> {
    /// Moves an attempt into the slot, which must be empty.
    #[inline]
    pub(super) fn fill(&mut self, arg: A, future: F) {
        self.slot.set(Slot::Occupied { future, arg });
        *self.len += 1;
    }

    /// Empties the slot, which must be occupied, and returns the argument. If the drop of the
    /// future panics, the argument is dropped too.
    #[inline]
    pub(super) fn take(self) -> A {
        Vacate(self).take()
    }

    /// Polls the attempt in the slot, which must be occupied. Empties the slot if the attempt
    /// finishes or panics.
    #[inline]
    pub(super) fn poll(self, cx: &mut Context<'_>) -> Poll<(A, F::Output)>
    where
        F: Future,
    {
        let mut vacate = Vacate(self);
        let SlotProjection::Occupied { future, .. } = vacate.0.slot.as_mut().project() else {
            unreachable!("the slot is occupied");
        };
        match future.poll(cx) {
            Poll::Ready(output) => Poll::Ready((vacate.take(), output)),
            Poll::Pending => {
                mem::forget(vacate);
                Poll::Pending
            }
        }
    }
}

/// Empties an occupied slot when dropped.
struct Vacate<'a, F, A>(SlotMut<'a, F, A>);

impl<F, A> Vacate<'_, F, A> {
    #[inline]
    fn take(mut self) -> A {
        // Drops the future in place before it returns.
        let taken = self.0.slot.as_mut().project_replace(Slot::Empty);
        let SlotReplaced::Occupied { arg, .. } = taken else {
            unreachable!("the slot is occupied");
        };
        *self.0.len -= 1;
        mem::forget(self);
        arg
    }
}

impl<F, A> Drop for Vacate<'_, F, A> {
    fn drop(&mut self) {
        *self.0.len -= 1;
        self.0.slot.set(Slot::Empty);
    }
}
