//! Push a future that is ready at its first poll, into an empty set and beside idle futures.

use std::{
    future::{Ready, ready},
    pin::Pin,
    task::{Context, Poll},
};

use race_core::Attempts;

use crate::{
    contenders::{Scan, Set},
    future::{Desks, Parked, Work, parent},
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
            set::<futures_buffered::FuturesUnorderedBounded<Small>>(Side::Presized),
            set::<futures_buffered::FuturesUnordered<Small>>(Side::Peer),
            set::<Pin<Box<futures_concurrency::future::FutureGroup<Small>>>>(Side::Peer),
            set::<unicycle::FuturesUnordered<Small>>(Side::Peer),
            set::<Scan<Small>>(Side::Reference),
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

type Idle = Parked<14>;

pub(crate) fn beside_idle(count: usize) {
    compare(
        &format!("in and out with {count} idle: push, finish at the first poll"),
        1,
        vec![
            idle_set::<Attempts<Idle>>(count, Side::Ours),
            idle_set::<futures::stream::FuturesUnordered<Idle>>(count, Side::Peer),
            idle_set::<futures_buffered::FuturesUnorderedBounded<Idle>>(count, Side::Presized),
            idle_set::<futures_buffered::FuturesUnordered<Idle>>(count, Side::Peer),
            idle_set::<Pin<Box<futures_concurrency::future::FutureGroup<Idle>>>>(count, Side::Peer),
            idle_set::<unicycle::FuturesUnordered<Idle>>(count, Side::Peer),
            idle_set::<Scan<Idle>>(count, Side::Reference),
        ],
    );
}

fn idle_set<S: Set<Idle> + 'static>(count: usize, side: Side) -> Contender<'static> {
    let (mut desks, mut ready, waker) = (Desks::new(count), Desks::new(1), parent());
    let mut set = S::with_room_for(count + 1);
    for future in desks.futures(Work::None) {
        set.push(future);
    }
    while !desks.registered() {
        assert!(set.poll(&mut Context::from_waker(&waker)).is_pending());
    }
    ready.finish(0);
    contender(S::NAME, side, move |turns| {
        let _ = &desks;
        let mut cx = Context::from_waker(&waker);
        for _ in 0..turns {
            ready
                .futures(Work::None)
                .for_each(|future| set.push(future));
            assert_eq!(set.poll(&mut cx), Poll::Ready(true));
        }
    })
}
