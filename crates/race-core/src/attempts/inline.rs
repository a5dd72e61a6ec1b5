use core::{
    array, fmt, mem,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use super::{AttemptSet, BorrowedWaker, Side};

/// Up to `N` running futures, stored inline.
///
/// A poll of the set polls every future with the waker of the task. The starting slot rotates, so
/// that no future starves the others. Does not compile with an `N` of zero.
///
/// # Panics
///
/// Polling the set panics if a future panics while it is polled or dropped. The set then drops this
/// future, its argument and, if it had finished, its output; it keeps all others.
///
/// Dropping the set drops every future and argument, even if one of them panics.
pub struct InlineAttempts<F, A, const N: usize> {
    /// Structurally pinned.
    slots: [Slot<F, A>; N],
    len: usize,
    /// The slot that is polled first in the next round.
    start: usize,
}

/// Either both fields are `Some` or neither is. The future comes first and is dropped first,
/// because it may use what its argument keeps alive.
struct Slot<F, A> {
    /// Structurally pinned.
    future: Option<F>,
    arg: Option<A>,
}

impl<F, A, const N: usize> InlineAttempts<F, A, N> {
    /// Creates an empty set.
    #[must_use]
    pub fn new() -> Self {
        const { assert!(N > 0, "a race needs room for one attempt") };
        Self {
            slots: array::from_fn(|_| Slot {
                future: None,
                arg: None,
            }),
            len: 0,
            start: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<F: Future, A, const N: usize> InlineAttempts<F, A, N> {
    fn set_start(self: Pin<&mut Self>, start: usize) {
        // SAFETY: `start` is not pinned.
        unsafe { self.get_unchecked_mut() }.start = start % N;
    }

    fn slot(self: Pin<&mut Self>, index: usize) -> SlotMut<'_, F, A> {
        // SAFETY: only the futures are structurally pinned. This one is returned pinned, and
        // nothing moves the set or a future in it.
        unsafe {
            let this = self.get_unchecked_mut();
            let slot = &mut this.slots[index];
            SlotMut {
                future: Pin::new_unchecked(&mut slot.future),
                arg: &mut slot.arg,
                len: &mut this.len,
            }
        }
    }
}

/// A slot of a pinned set.
struct SlotMut<'a, F, A> {
    future: Pin<&'a mut Option<F>>,
    arg: &'a mut Option<A>,
    len: &'a mut usize,
}

impl<F: Future, A> SlotMut<'_, F, A> {
    fn fill(&mut self, arg: A, future: F) {
        self.future.set(Some(future));
        *self.arg = Some(arg);
        *self.len += 1;
    }

    /// Polls the attempt, if there is one. Empties the slot if the attempt finishes or panics.
    fn poll(self, cx: &mut Context<'_>) -> Poll<(A, F::Output)> {
        if self.arg.is_none() {
            return Poll::Pending;
        }
        let mut vacate = Vacate(self);
        let future = vacate.0.future.as_mut().as_pin_mut();
        let polled = future.expect("an argument has a future").poll(cx);
        let Poll::Ready(output) = polled else {
            mem::forget(vacate);
            return Poll::Pending;
        };
        vacate.0.future.set(None); // before its argument
        let arg = vacate.0.arg.take().expect("a future has an argument");
        Poll::Ready((arg, output))
    }
}

/// Empties a slot when dropped, unless it is forgotten.
struct Vacate<'a, F, A>(SlotMut<'a, F, A>);

impl<F, A> Drop for Vacate<'_, F, A> {
    fn drop(&mut self) {
        *self.0.len -= 1;
        self.0.future.set(None); // before its argument
        *self.0.arg = None;
    }
}

impl<F: Future, A, const N: usize> AttemptSet<F, A> for InlineAttempts<F, A, N> {
    fn len(&self) -> usize {
        self.len
    }

    fn is_full(&self) -> bool {
        self.len == N
    }

    #[inline]
    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<(A, F::Output)>> {
        if self.len == 0 {
            return Poll::Ready(None);
        }
        let start = self.start;
        for index in (start..N).chain(0..start) {
            let polled = self.as_mut().slot(index).poll(cx);
            if polled.is_ready() {
                self.set_start(index + 1);
                return polled.map(Some);
            }
        }
        self.set_start(start + 1);
        Poll::Pending
    }

    fn push_and_poll(
        mut self: Pin<&mut Self>,
        arg: A,
        future: F,
        cx: &mut Context<'_>,
    ) -> Poll<(A, F::Output)> {
        let free = self.slots.iter().position(|slot| slot.arg.is_none());
        let index = free.expect("the caller checked `is_full`");
        self.as_mut().slot(index).fill(arg, future);
        self.slot(index).poll(cx)
    }

    fn for_each(&self, f: impl FnMut(&A)) {
        let args = self.slots.iter().filter_map(|slot| slot.arg.as_ref());
        args.for_each(f);
    }

    fn remove(mut self: Pin<&mut Self>, is_it: impl Fn(&A) -> bool) -> Option<A> {
        let mut slots = self.slots.iter();
        let index = slots.position(|slot| slot.arg.as_ref().is_some_and(&is_it))?;
        let mut vacate = Vacate(self.as_mut().slot(index));
        vacate.0.future.set(None); // before its argument
        vacate.0.arg.take()
    }

    fn side_waker<'a>(
        self: Pin<&'a mut Self>,
        _: Side,
        _: &Waker,
    ) -> Option<(BorrowedWaker<'a>, bool)> {
        None
    }
}

impl<F, A, const N: usize> Default for InlineAttempts<F, A, N> {
    fn default() -> Self {
        Self::new()
    }
}

/// Only the futures are pinned.
impl<F: Unpin, A, const N: usize> Unpin for InlineAttempts<F, A, N> {}

impl<F, A, const N: usize> fmt::Debug for InlineAttempts<F, A, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InlineAttempts")
            .field("len", &self.len)
            .finish()
    }
}

#[cfg(test)]
mod tests;
