//! Polling: a single future directly, several in rounds.

use core::{
    mem,
    task::{Context, Poll, Waker},
};

use super::Attempts;

impl<F: Future, A> Attempts<F, A> {
    /// Polls until a future finishes or a round ends.
    #[inline]
    pub(super) fn poll_one(&mut self, cx: &mut Context<'_>) -> Poll<Option<(A, F::Output)>> {
        if self.is_alone {
            self.register(cx.waker());
            return self.poll_slot(0, cx).map(Some);
        }
        if self.len == 0 {
            self.register(cx.waker());
            return Poll::Ready(None);
        }
        self.poll_ready_set(cx).map(Some)
    }

    /// Registers the parent's waker for the timer and the source, while no future has its own
    /// waker.
    #[inline]
    fn register(&mut self, parent: &Waker) {
        if let Some(ready) = &mut self.ready {
            ready.begin_round(parent);
        }
    }

    fn poll_ready_set(&mut self, cx: &mut Context<'_>) -> Poll<(A, F::Output)> {
        // The rest of an interrupted round goes first; otherwise it could wait forever.
        if self.round_interrupted {
            if let Poll::Ready(finished) = self.poll_round() {
                return Poll::Ready(finished);
            }
        }
        self.ready_mut().begin_round(cx.waker());
        self.poll_round()
    }

    /// Polls the remaining futures of the round, until one finishes.
    fn poll_round(&mut self) -> Poll<(A, F::Output)> {
        loop {
            let ready = self.ready_mut();
            let Some(slot) = ready.next() else {
                self.round_interrupted = false;
                return Poll::Pending;
            };
            let waker = ready.waker(slot);
            self.round_interrupted = true; // in case the future panics
            let polled = self.poll_slot(slot, &mut Context::from_waker(&waker));
            if polled.is_ready() {
                self.round_interrupted = self.ready_mut().has_next();
                return polled;
            }
        }
    }

    /// Polls slot 0 with a waker of its own, which it has since the second future was pushed.
    #[cold]
    pub(super) fn poll_first_again(&mut self, cx: &mut Context<'_>) -> Poll<(A, F::Output)> {
        let ready = self.ready_mut();
        ready.begin_round(cx.waker());
        let waker = ready.waker(0);
        let is_due = ready.visit_first();
        self.round_interrupted = ready.has_next();
        let polled = match is_due {
            true => self.poll_slot(0, &mut Context::from_waker(&waker)),
            false => Poll::Pending,
        };
        if polled.is_pending() && self.round_interrupted {
            // The rest of the round was polled in this poll already, and waits for the next one.
            cx.waker().wake_by_ref();
        }
        polled
    }

    /// Polls the future in an occupied slot. Frees the slot if the future finishes or panics.
    #[inline(always)]
    pub(super) fn poll_slot(&mut self, slot: usize, cx: &mut Context<'_>) -> Poll<(A, F::Output)> {
        let on_panic = RemoveOnPanic { set: self, slot };
        // SAFETY: the slot is occupied.
        let polled = unsafe { on_panic.set.storage.poll(slot, cx) };
        mem::forget(on_panic);
        let Poll::Ready(output) = polled else {
            return Poll::Pending;
        };
        Poll::Ready((self.take(slot), output))
    }
}

/// Removes an attempt whose poll panics.
struct RemoveOnPanic<'a, F, A> {
    set: &'a mut Attempts<F, A>,
    slot: usize,
}

impl<F, A> Drop for RemoveOnPanic<'_, F, A> {
    fn drop(&mut self) {
        drop(self.set.take(self.slot));
    }
}
