//! The future of all workloads: it costs next to nothing and keeps its waker.
//!
//! The futures and desks of `attempts/future.rs` are not used here, because there the desk has the
//! waker. Here the waker is in the future, so that moving and dropping the future counts.

use std::{
    hint::black_box,
    pin::Pin,
    ptr::NonNull,
    task::{Context, Poll, Waker},
};

/// Pending until its desk is ready. Takes 88 bytes, so that moving it counts.
pub(crate) struct Attempt {
    desk: NonNull<Desk>,
    waker: Option<Waker>,
    output: [u64; 8],
}

/// Finishes and wakes one future.
#[derive(Default)]
struct Desk {
    is_ready: bool,
    /// The future, if it is pinned and keeps a waker.
    pending: Option<NonNull<Attempt>>,
}

pub(crate) struct Desks(Vec<Desk>);

impl Desks {
    pub(crate) fn new(count: usize) -> Self {
        Self((0..count).map(|_| Desk::default()).collect())
    }

    /// Returns one future per desk. They must not outlive the desks.
    pub(crate) fn futures(&mut self) -> impl ExactSizeIterator<Item = Attempt> {
        self.0.iter_mut().map(|desk| Attempt {
            desk: NonNull::from(desk),
            waker: None,
            output: [0; 8],
        })
    }

    /// Wakes a future, which must not have been dropped.
    pub(crate) fn wake(&self, index: usize) {
        if let Some(pending) = self.0[index].pending {
            // SAFETY: the future is pinned and was not dropped, nothing else refers to it now, and
            // it has a waker since it set `pending`.
            unsafe { pending.as_ref().waker.as_ref().unwrap_unchecked() }.wake_by_ref();
        }
    }

    /// Makes a future ready and wakes it. It must not have been dropped.
    pub(crate) fn finish(&mut self, index: usize) {
        self.0[index].is_ready = true;
        self.wake(index);
    }

    /// Makes the desks as new, after their futures were dropped.
    pub(crate) fn reset(&mut self) {
        self.0.fill_with(Desk::default);
    }

    /// Returns whether every future was polled.
    pub(crate) fn all_pending(&self) -> bool {
        self.0.iter().all(|desk| desk.pending.is_some())
    }
}

impl Future for Attempt {
    type Output = u64;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u64> {
        black_box(&self.output);
        let mut desk = self.desk;
        // SAFETY: the desks outlive the futures, and no other reference to them exists meanwhile.
        let desk = unsafe { desk.as_mut() };
        if desk.is_ready {
            return Poll::Ready(self.output[0]);
        }
        match &self.waker {
            Some(waker) if waker.will_wake(cx.waker()) => {}
            _ => {
                self.waker = Some(cx.waker().clone());
                desk.pending = Some(NonNull::from(&*self));
            }
        }
        Poll::Pending
    }
}
