use alloc::boxed::Box;
use core::{
    mem::ManuallyDrop,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use super::Attempts;
use crate::attempts::{AttemptSet, Side, ready_set::ReadySet};

impl<F: Future, A> AttemptSet<F, A> for Attempts<F, A> {
    fn len(&self) -> usize {
        self.len
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
        let (slot, was_alone) = self.insert(arg, future, Some(cx.waker()));
        if self.is_alone {
            return self.poll_slot(0, cx);
        }
        let waker = self.ready_mut().waker(slot);
        let polled = self.poll_slot(slot, &mut Context::from_waker(&waker));
        if polled.is_pending() && was_alone {
            return self.poll_first_again(cx);
        }
        polled
    }

    fn for_each(&self, mut f: impl FnMut(&A)) {
        self.occupied().for_each(|(_, arg)| f(arg));
    }

    fn remove(mut self: Pin<&mut Self>, is_it: impl Fn(&A) -> bool) -> Option<A> {
        let (slot, _) = self.occupied().find(|(_, arg)| is_it(arg))?;
        if !self.is_alone {
            let ready = self.ready_mut();
            ready.unschedule(slot);
            self.round_interrupted = ready.has_next();
        }
        Some(self.take(slot))
    }

    fn side_waker(
        mut self: Pin<&mut Self>,
        side: Side,
        parent: &Waker,
    ) -> Option<(ManuallyDrop<Waker>, bool)> {
        let ready = self.ready.get_or_insert_with(|| {
            let mut ready = Box::new(ReadySet::new());
            ready.begin_round(parent);
            ready
        });
        Some(ready.side_waker(side))
    }
}
