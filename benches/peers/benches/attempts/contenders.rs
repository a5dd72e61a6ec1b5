//! The sets, reduced to the measured operations: push and poll.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures::Stream;
use race_core::Attempts;

pub(crate) trait Set<F> {
    const NAME: &'static str;

    fn with_room_for(count: usize) -> Self;
    fn push(&mut self, future: F);
    /// `Ready(true)` if one has finished, `Ready(false)` if there is none.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<bool>;
}

/// A set that is a stream of outputs.
macro_rules! stream_set {
    ($name:literal, $set:ty, $new:expr, $push:expr) => {
        impl<F: Future> Set<F> for $set {
            const NAME: &'static str = $name;

            fn with_room_for(count: usize) -> Self {
                let new: fn(usize) -> Self = $new;
                new(count)
            }

            #[inline]
            fn push(&mut self, future: F) {
                let push: fn(&mut Self, F) = $push;
                push(self, future);
            }

            #[inline]
            fn poll(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
                Pin::new(self).poll_next(cx).map(|it| it.is_some())
            }
        }
    };
}

stream_set!(
    "race-core Attempts",
    Attempts<F>,
    |_| Self::new(),
    |set, future| set.push(future)
);
stream_set!(
    "FuturesUnordered (futures-util)",
    futures::stream::FuturesUnordered<F>,
    |_| Self::new(),
    |set, future| Self::push(set, future)
);
stream_set!(
    "FuturesUnorderedBounded (futures-buffered)",
    futures_buffered::FuturesUnorderedBounded<F>,
    |count| Self::new(count),
    |set, future| set.push(future)
);
stream_set!(
    "FuturesUnordered (futures-buffered)",
    futures_buffered::FuturesUnordered<F>,
    |_| Self::new(),
    |set, future| set.push(future)
);
stream_set!(
    "FutureGroup (futures-concurrency)",
    Pin<Box<futures_concurrency::future::FutureGroup<F>>>,
    |_| Box::pin(futures_concurrency::future::FutureGroup::new()),
    |set, future| {
        // SAFETY: the group does not move its futures; `insert` only needs `&mut`.
        unsafe { set.as_mut().get_unchecked_mut() }.insert(future);
    }
);
stream_set!(
    "FuturesUnordered (unicycle)",
    unicycle::FuturesUnordered<F>,
    |_| Self::new(),
    |set, future| {
        set.push(future);
    }
);

/// Ours, told how many futures it will hold.
pub(crate) struct Presized<F>(Attempts<F>);

impl<F: Future> Set<F> for Presized<F> {
    const NAME: &'static str = "race-core Attempts, presized";

    fn with_room_for(count: usize) -> Self {
        Self(Attempts::with_capacity(count))
    }

    #[inline]
    fn push(&mut self, future: F) {
        Set::push(&mut self.0, future);
    }

    #[inline]
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        Set::poll(&mut self.0, cx)
    }
}

/// The scan of `race` 0.1.15: it polls all running futures, the latest first, with the parent's
/// waker. Its clock and its start loop are left out, which is in its favour.
pub(crate) struct Scan<F>(Vec<(usize, Pin<Box<F>>)>);

impl<F: Future> Set<F> for Scan<F> {
    const NAME: &'static str = "race 0.1.15, its scan alone";

    fn with_room_for(_: usize) -> Self {
        Self(Vec::with_capacity(8))
    }

    #[inline]
    fn push(&mut self, future: F) {
        self.0.push((0, Box::pin(future)));
    }

    #[inline]
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        for index in (0..self.0.len()).rev() {
            if self.0[index].1.as_mut().poll(cx).is_ready() {
                self.0.swap_remove(index);
                return Poll::Ready(true);
            }
        }
        if self.0.is_empty() {
            return Poll::Ready(false);
        }
        Poll::Pending
    }
}
