//! Polling: a single future directly, several in rounds.

use core::{
    mem,
    task::{Context, Poll},
};

use super::{Attempts, State};
use crate::attempts::{
    ready_set::{BegunRound, ReadySet, Visit},
    storage::{Place, Storage},
};

impl<F: Future, A> Attempts<F, A> {
    /// Polls until a future finishes or a round ends.
    #[inline]
    pub(super) fn poll_one(&mut self, cx: &mut Context<'_>) -> Poll<Option<(A, F::Output)>> {
        match &mut self.state {
            State::Several(ready) => {
                let storage = &mut self.storage;
                return WithWakers { storage, ready }.poll(cx);
            }
            State::Single => {}
            // `Empty`, but asked in another way: a `match` over all states jumps through a table.
            _ if self.storage.len() == 0 => return Poll::Ready(None),
            state => state.begin_round_of_sides(cx.waker()),
        }
        // SAFETY: the set is in one of these states.
        unsafe { self.poll_single(cx) }.map(Some)
    }

    /// Polls the single future with the waker of the task.
    ///
    /// # Safety
    ///
    /// The state is `Single` or `SingleWithReadySet`.
    #[inline(always)]
    pub(super) unsafe fn poll_single(&mut self, cx: &mut Context<'_>) -> Poll<(A, F::Output)> {
        // SAFETY: in these states slot 0 is occupied.
        let place = unsafe { self.storage.first() };
        let on_panic = FreeSingleOnPanic(self);
        // SAFETY: as above.
        let polled = unsafe { place.poll(cx) };
        mem::forget(on_panic);
        match polled {
            // SAFETY: the state is as it was.
            Poll::Ready(output) => Poll::Ready((unsafe { self.take_single() }, output)),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<F, A> Attempts<F, A> {
    /// Drops the single future and returns its argument.
    ///
    /// # Safety
    ///
    /// The state is `Single` or `SingleWithReadySet`.
    #[inline(always)]
    pub(super) unsafe fn take_single(&mut self) -> A {
        // Before `remove`, because dropping the future may panic.
        match &mut self.state {
            state @ State::Single => *state = State::Empty,
            state => state.remove_single(),
        }
        self.storage.free();
        // SAFETY: slot 0 was occupied until now and is free from here on.
        unsafe { self.storage.first().remove() }
    }
}

/// The futures of a set that have wakers of their own.
pub(super) struct WithWakers<'a, F, A> {
    pub(super) storage: &'a mut Storage<F, A>,
    pub(super) ready: &'a mut ReadySet,
}

impl<F: Future, A> WithWakers<'_, F, A> {
    #[inline(always)]
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<(A, F::Output)>> {
        // The rest of an interrupted round goes first; otherwise it could wait forever.
        let interrupted = self.ready.remaining();
        let visit = match interrupted {
            Some(remaining) => self.ready.advance(remaining),
            None => match self.ready.begin_round(cx.waker()) {
                BegunRound::Empty => return self.pending(),
                BegunRound::One(visit) => visit,
                BegunRound::Several => match self.ready.remaining() {
                    Some(remaining) => self.ready.advance(remaining),
                    None => return self.pending(), // the woken slots are free by now
                },
            },
        };
        // SAFETY: the ready set has just returned the visit.
        if let Poll::Ready(finished) = unsafe { self.poll_slot(visit) } {
            return Poll::Ready(Some(finished));
        }
        match interrupted.is_some() || self.ready.has_next() {
            true => poll_rest(self.storage, self.ready, cx, interrupted.is_some()),
            false => Poll::Pending,
        }
    }

    #[inline(always)]
    fn pending(&self) -> Poll<Option<(A, F::Output)>> {
        match self.storage.len() {
            0 => Poll::Ready(None),
            _ => Poll::Pending,
        }
    }

    /// Polls the future in an occupied slot with its own waker. Frees the slot if the future
    /// finishes or panics.
    ///
    /// # Safety
    ///
    /// No method of the ready set was called since it returned the visit.
    #[inline(always)]
    pub(super) unsafe fn poll_slot(&mut self, visit: Visit) -> Poll<(A, F::Output)> {
        // SAFETY: as above. The ready set is borrowed until the end of the poll.
        let waker = unsafe { visit.waker() };
        // SAFETY: the slot of a visit is occupied.
        let place = unsafe { self.storage.place(visit.slot()) };
        let on_panic = FreeSlotOnPanic(self, visit.slot());
        // SAFETY: as above.
        let polled = unsafe { place.poll(&mut Context::from_waker(&waker)) };
        mem::forget(on_panic);
        match polled {
            // SAFETY: polling the future has not used the ready set.
            Poll::Ready(output) => Poll::Ready((unsafe { self.take(visit, place) }, output)),
            Poll::Pending => Poll::Pending,
        }
    }

    /// Polls slot 0 with a waker of its own, which it has since the second future was pushed.
    #[cold]
    pub(super) fn poll_first_again(&mut self, cx: &mut Context<'_>) -> Poll<(A, F::Output)> {
        let first = match self.ready.begin_round(cx.waker()) {
            BegunRound::One(visit) => Some(visit),
            BegunRound::Several => self.ready.visit_first(),
            BegunRound::Empty => None,
        };
        let polled = match first {
            // SAFETY: the ready set has just returned the visit.
            Some(visit) => unsafe { self.poll_slot(visit) },
            None => Poll::Pending,
        };
        if polled.is_pending() && self.ready.has_next() {
            // The new attempt has woken itself. It was polled in this poll already; the next poll
            // continues the round.
            cx.waker().wake_by_ref();
        }
        polled
    }
}

impl<F, A> WithWakers<'_, F, A> {
    /// Frees an occupied slot: drops its future and returns its argument.
    ///
    /// # Safety
    ///
    /// No method of the ready set was called since it returned the visit. The place is that of its
    /// slot.
    #[inline(always)]
    unsafe fn take(&mut self, visit: Visit, place: Place<F, A>) -> A {
        let slot = visit.slot();
        // Before `remove`, because dropping the future may panic.
        self.storage.free();
        // SAFETY: the caller promises it.
        let was_full = unsafe { visit.free() };
        self.ready.freed(slot, was_full);
        // SAFETY: the slot was occupied until now and is free from here on.
        unsafe { place.remove() }
    }

    /// Frees a slot: drops its future and returns its argument. The slot must not be in a round.
    ///
    /// # Safety
    ///
    /// The slot is occupied.
    pub(super) unsafe fn take_slot(&mut self, slot: usize) -> A {
        let visit = self.ready.visit(slot);
        // SAFETY: the slot is occupied, and the ready set has just returned the visit.
        unsafe { self.take(visit, self.storage.place(slot)) }
    }
}

/// Polls the other futures of a round, until one finishes. After an interrupted round, polls those
/// of the next one.
#[inline(never)]
fn poll_rest<F: Future, A>(
    storage: &mut Storage<F, A>,
    ready: &mut ReadySet,
    cx: &mut Context<'_>,
    was_interrupted: bool,
) -> Poll<Option<(A, F::Output)>> {
    let mut futures = WithWakers { storage, ready };
    while let Some(visit) = futures.ready.next() {
        // SAFETY: the ready set has just returned the visit.
        if let Poll::Ready(finished) = unsafe { futures.poll_slot(visit) } {
            return Poll::Ready(Some(finished));
        }
    }
    match was_interrupted {
        true => futures.poll(cx),
        false => futures.pending(),
    }
}

/// Drops a single future whose poll panics.
struct FreeSingleOnPanic<'a, F, A>(&'a mut Attempts<F, A>);

impl<F, A> Drop for FreeSingleOnPanic<'_, F, A> {
    #[inline(always)]
    fn drop(&mut self) {
        drop_single(self.0);
    }
}

#[cold]
#[inline(never)]
fn drop_single<F, A>(set: &mut Attempts<F, A>) {
    // SAFETY: the state is the one in which the future was polled.
    drop(unsafe { set.take_single() });
}

/// Drops one of several futures, whose poll panics, and frees its slot.
struct FreeSlotOnPanic<'a, 'b, F, A>(&'a mut WithWakers<'b, F, A>, usize);

impl<F, A> Drop for FreeSlotOnPanic<'_, '_, F, A> {
    #[inline(always)]
    fn drop(&mut self) {
        // The fields one by one, so that the fast path need not keep `WithWakers` in memory.
        let WithWakers { storage, ready } = &mut *self.0;
        drop_one(storage, ready, self.1);
    }
}

#[cold]
#[inline(never)]
fn drop_one<F, A>(storage: &mut Storage<F, A>, ready: &mut ReadySet, slot: usize) {
    let mut futures = WithWakers { storage, ready };
    // SAFETY: the slot is occupied, as its future was polled.
    drop(unsafe { futures.take_slot(slot) });
}
