//! Push a future that is ready at its first poll.

use std::{
    future::{Ready, ready},
    pin::Pin,
    task::{Context, Poll},
};

use race_core::Attempts;

use crate::{
    contenders::{Scan, Set},
    future::parent,
    table::{Contender, Side, compare, contender},
};

/// The size of a small attempt.
type Small = Padded<Ready<()>>;

pub(crate) struct Padded<F>(F, [u64; 15]);

impl<F: Future + Unpin> Future for Padded<F> {
    type Output = F::Output;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        std::hint::black_box(&self.1);
        Pin::new(&mut self.0).poll(cx)
    }
}

pub(crate) fn and_finish() {
    compare(
        "push, finish at the first poll, of an empty set",
        1,
        vec![
            set::<Attempts<Small>>(Side::Ours),
            set::<futures::stream::FuturesUnordered<Small>>(Side::Peer),
            set::<futures_buffered::FuturesUnorderedBounded<Small>>(Side::Peer),
            set::<futures_buffered::FuturesUnordered<Small>>(Side::Peer),
            set::<Pin<Box<futures_concurrency::future::FutureGroup<Small>>>>(Side::Peer),
            set::<unicycle::FuturesUnordered<Small>>(Side::Peer),
            set::<Scan<Small>>(Side::Bound),
        ],
    );
}

fn set<S: Set<Small> + 'static>(side: Side) -> Contender<'static> {
    let (mut set, waker) = (S::with_room_for(1), parent());
    contender(S::NAME, side, move |turns| {
        let mut cx = Context::from_waker(&waker);
        for _ in 0..turns {
            set.push(Padded(ready(()), [0; 15]));
            assert_eq!(set.poll(&mut cx), Poll::Ready(true));
        }
    })
}
