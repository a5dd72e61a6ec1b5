use core::{
    pin::Pin,
    task::{Context, Poll, Waker},
};

use super::{Attempts, State, poll::WithWakers};
use crate::attempts::{AttemptSet, BorrowedWaker, Side, ready_set::ReadySet};

impl<F: Future, A> AttemptSet<F, A> for Attempts<F, A> {
    fn len(&self) -> usize {
        self.storage.len()
    }

    fn is_full(&self) -> bool {
        false
    }

    #[inline]
    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<(A, F::Output)>> {
        self.poll_one(cx)
    }

    #[inline]
    fn push_and_poll(
        mut self: Pin<&mut Self>,
        arg: A,
        future: F,
        cx: &mut Context<'_>,
    ) -> Poll<(A, F::Output)> {
        if self.is_empty() {
            self.push_single(arg, future);
            // SAFETY: the set was empty, so it is in one of these states now.
            return unsafe { self.poll_single(cx) };
        }
        let was_alone = !matches!(self.state, State::Several(_));
        let slot = self.reserve_slot().occupy();
        self.fill(slot, arg, future);
        let mut futures = self.with_wakers().expect("there are two futures");
        let visit = futures.ready.visit(slot);
        // SAFETY: the ready set has just returned the visit.
        let polled = unsafe { futures.poll_slot(visit) };
        if polled.is_pending() && was_alone {
            return futures.poll_first_again(cx);
        }
        polled
    }

    fn for_each(&self, mut f: impl FnMut(&A)) {
        self.occupied().for_each(|(_, arg)| f(arg));
    }

    fn remove(mut self: Pin<&mut Self>, is_it: impl Fn(&A) -> bool) -> Option<A> {
        let (slot, _) = self.occupied().find(|(_, arg)| is_it(arg))?;
        Some(match self.with_wakers() {
            Some(mut futures) => {
                futures.ready.unschedule(slot);
                // SAFETY: the slot is occupied.
                unsafe { futures.take_slot(slot) }
            }
            // SAFETY: the set holds a future, so it is in one of these states.
            None => unsafe { self.take_single() },
        })
    }

    #[inline]
    fn side_waker<'a>(
        self: Pin<&'a mut Self>,
        side: Side,
        parent: &Waker,
    ) -> Option<(BorrowedWaker<'a>, bool)> {
        let state = &mut self.get_mut().state;
        if let State::Empty | State::Single = state {
            let mut ready = ReadySet::boxed();
            ready.begin_round_of_sides(parent);
            *state = match state {
                State::Empty => State::Several(ready),
                _ => State::SingleWithReadySet(ready),
            };
        }
        match state {
            State::SingleWithReadySet(ready) | State::Several(ready) => {
                Some(ready.side_waker(side))
            }
            State::Empty | State::Single => None,
        }
    }
}

impl<F, A> Attempts<F, A> {
    /// Returns the futures that have wakers of their own, or `None` if there is none.
    #[inline]
    fn with_wakers(&mut self) -> Option<WithWakers<'_, F, A>> {
        match &mut self.state {
            State::Several(ready) => Some(WithWakers {
                storage: &mut self.storage,
                ready,
            }),
            _ => None,
        }
    }

    /// Returns the ready set, if there is one.
    #[cfg(test)]
    pub(in crate::attempts) fn ready_mut(&mut self) -> Option<&mut ReadySet> {
        match &mut self.state {
            State::Empty | State::Single => None,
            State::SingleWithReadySet(ready) | State::Several(ready) => Some(ready),
        }
    }
}
