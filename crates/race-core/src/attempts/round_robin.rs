use core::{
    fmt,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use pin_project_lite::pin_project;

use super::{
    AttemptSet, BorrowedWaker, Side,
    slot::{Slot, SlotMut},
};

pin_project! {
    /// Running futures that are all polled with the waker of the task.
    ///
    /// A poll of the set polls every future. The future that is polled first rotates, so that none
    /// starves the others.
    ///
    /// # Panics
    ///
    /// Polling the set panics if a future panics while it is polled or dropped. The set then drops
    /// this future, its argument and, if it had finished, its output; it keeps all others.
    ///
    /// Dropping the set drops every future and argument, even if one of them panics.
    pub struct RoundRobin<M> {
        #[pin]
        slots: M,
        // The number of occupied slots.
        len: usize,
        // The slot with which the next round begins.
        start: usize,
    }
}

/// The slots of a set, in their memory: on the heap or inline.
pub trait SlotMemory<F, A> {
    /// Whether `grow` makes more slots.
    const GROWS: bool;

    fn new() -> Self;

    fn count(&self) -> usize;

    /// Makes at least one more slot, which is empty.
    fn grow(self: Pin<&mut Self>);

    fn get(&self, index: usize) -> &Slot<F, A>;

    fn get_pinned(self: Pin<&mut Self>, index: usize) -> Pin<&mut Slot<F, A>>;
}

impl<M> RoundRobin<M> {
    /// Creates an empty set.
    pub(crate) fn new<F, A>() -> Self
    where
        M: SlotMemory<F, A>,
    {
        Self {
            slots: M::new(),
            len: 0,
            start: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn slot<F, A>(self: Pin<&mut Self>, index: usize) -> SlotMut<'_, F, A>
    where
        M: SlotMemory<F, A>,
    {
        let this = self.project();
        SlotMut {
            slot: this.slots.get_pinned(index),
            len: this.len,
        }
    }

    /// Returns an empty slot. If there is none, it makes some.
    #[inline]
    fn free_slot<F, A>(self: Pin<&mut Self>) -> usize
    where
        M: SlotMemory<F, A>,
    {
        let count = self.slots.count();
        if M::GROWS && self.len == count {
            self.project().slots.grow();
            return count;
        }
        let mut indices = 0..count;
        let free = indices.find(|&index| self.slots.get(index).arg().is_none());
        free.expect("the caller checked `is_full`")
    }

    fn set_start(self: Pin<&mut Self>, start: usize) {
        *self.project().start = start;
    }

    /// Polls each attempt once, until one finishes.
    fn poll_round<F: Future, A>(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<(A, F::Output)>>
    where
        M: SlotMemory<F, A>,
    {
        let (start, count) = (self.start, self.slots.count());
        let mut first = None;
        let mut remaining = self.len;
        for index in (start..count).chain(0..start) {
            if self.slots.get(index).arg().is_none() {
                continue;
            }
            let first = *first.get_or_insert(index);
            let polled = self.as_mut().slot(index).poll(cx);
            if polled.is_ready() {
                self.set_start((index + 1) % count);
                return polled.map(Some);
            }
            remaining -= 1;
            if remaining == 0 {
                self.set_start((first + 1) % count);
                break;
            }
        }
        Poll::Pending
    }
}

impl<F: Future, A, M: SlotMemory<F, A>> AttemptSet<F, A> for RoundRobin<M> {
    fn len(&self) -> usize {
        self.len
    }

    fn is_full(&self) -> bool {
        !M::GROWS && self.len == self.slots.count()
    }

    #[inline]
    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<(A, F::Output)>> {
        match self.len {
            0 => Poll::Ready(None),
            _ => self.poll_round(cx),
        }
    }

    #[inline]
    fn push_and_poll(
        mut self: Pin<&mut Self>,
        arg: A,
        future: F,
        cx: &mut Context<'_>,
    ) -> Poll<(A, F::Output)> {
        let index = self.as_mut().free_slot();
        self.as_mut().slot(index).fill(arg, future);
        self.slot(index).poll(cx)
    }

    fn for_each(&self, f: impl FnMut(&A)) {
        let args = (0..self.slots.count()).filter_map(|index| self.slots.get(index).arg());
        args.for_each(f);
    }

    fn remove(self: Pin<&mut Self>, is_it: impl Fn(&A) -> bool) -> Option<A> {
        let mut indices = 0..self.slots.count();
        let index = indices.find(|&index| self.slots.get(index).arg().is_some_and(&is_it))?;
        Some(self.slot(index).take())
    }

    fn side_waker<'a>(
        self: Pin<&'a mut Self>,
        _: Side,
        _: &Waker,
    ) -> Option<(BorrowedWaker<'a>, bool)> {
        None
    }
}

impl<M> fmt::Debug for RoundRobin<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoundRobin")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
