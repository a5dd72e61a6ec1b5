//! Wake one of N at random, then poll.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering},
    task::{Context, Poll},
    time::Duration,
};

use futures::Stream;
use race_core::Attempts;

use crate::{
    contenders::{Scan, Set},
    future::{Desks, Parked, Shuffle, Work, parent},
    table::{Contender, Side, compare, contender},
};

const HOUR: Duration = Duration::from_secs(3_600);

pub(crate) fn one_of(count: usize, work: Work) {
    let each = match work {
        Work::None => "free futures",
        Work::Some => "futures of about 15 ns",
    };
    let mut contenders = vec![
        set::<Attempts<Parked>>(count, work, Side::Ours),
        set::<futures::stream::FuturesUnordered<Parked>>(count, work, Side::Peer),
        set::<futures_buffered::FuturesUnorderedBounded<Parked>>(count, work, Side::Presized),
        set::<futures_buffered::FuturesUnordered<Parked>>(count, work, Side::Peer),
        set::<Pin<Box<futures_concurrency::future::FutureGroup<Parked>>>>(count, work, Side::Peer),
        set::<unicycle::FuturesUnordered<Parked>>(count, work, Side::Peer),
        join_set(count, work),
        set::<Scan<Parked>>(count, work, Side::Reference),
    ];
    contenders.push(bound(count, work));
    compare(&format!("wake one of {count}, {each}"), 1, contenders);
}

fn set<S: Set<Parked> + 'static>(count: usize, work: Work, side: Side) -> Contender<'static> {
    let (mut desks, waker, mut shuffle) = (Desks::new(count), parent(), Shuffle::new());
    let mut set = S::with_room_for(count);
    for future in desks.futures(work) {
        set.push(future);
    }
    let mut polled = move |desks: &Desks, index: usize| {
        let mut cx = Context::from_waker(&waker);
        desks.wake(index);
        assert!(set.poll(&mut cx).is_pending());
    };
    for _ in 0..2 {
        polled(&desks, 0); // polls all, so that each has its waker
    }
    contender(S::NAME, side, move |turns| {
        for _ in 0..turns {
            polled(&desks, shuffle.next(count));
        }
    })
}

/// One atomic operation in place of the wake, and one poll.
fn bound(count: usize, work: Work) -> Contender<'static> {
    let (mut desks, waker, mut shuffle) = (Desks::new(count), parent(), Shuffle::new());
    let (mut futures, word) = (
        desks.futures::<0>(work).collect::<Vec<_>>(),
        AtomicUsize::new(0),
    );
    contender(
        "bound: one atomic, one poll",
        Side::Reference,
        move |turns| {
            let _ = &desks;
            for _ in 0..turns {
                let index = shuffle.next(count);
                word.fetch_or(1, Ordering::AcqRel);
                let future = Pin::new(&mut futures[index]);
                assert!(future.poll(&mut Context::from_waker(&waker)).is_pending());
            }
        },
    )
}

/// tokio's set needs its runtime: wake a task, let it run, look for a finished one.
fn join_set(count: usize, work: Work) -> Contender<'static> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime without drivers");
    let (mut desks, mut shuffle) = (Desks::new(count), Shuffle::new());
    let mut set = tokio::task::JoinSet::new();
    for future in desks.futures::<0>(work) {
        set.spawn_on(future, runtime.handle());
    }
    contender("JoinSet (tokio)", Side::Peer, move |turns| {
        runtime.block_on(async {
            tokio::task::yield_now().await;
            for _ in 0..turns {
                desks.wake(shuffle.next(count));
                tokio::task::yield_now().await;
                let polled = poll_fn(|cx| Poll::Ready(set.poll_join_next(cx))).await;
                assert!(polled.is_pending());
            }
        });
    })
}

/// Whole races with one running attempt.
pub(crate) fn race_of_one() {
    for pending in [true, false] {
        // With a delay of zero the original finds the end of its arguments at once.
        let (starts, delay, what) = match pending {
            true => (2, HOUR, "a start pending"),
            false => (1, Duration::ZERO, "nothing left to start"),
        };

        let mut desks = Desks::new(2);
        let futures = desks.futures::<0>(Work::None).take(starts);
        let ours = race_tokio::Race::of(delay, futures.collect::<Vec<_>>());

        let mut their_desks = Desks::new(2);
        let futures = their_desks.futures::<0>(Work::None);
        let mut futures = futures.map(Some).collect::<Vec<_>>();
        let run = move |index: &usize| {
            let desk = futures[*index].take();
            Fallible(desk)
        };
        let run = std::cell::RefCell::new(run);
        let run = move |index: &usize| (run.borrow_mut())(index);
        let theirs = race_0_1::Race::new(delay, run, 0..starts);

        compare(
            &format!("a race of one, {what}: wake, then poll"),
            1,
            vec![
                stream("race-tokio Race", Side::Ours, desks, ours),
                stream("race 0.1.15", Side::Peer, their_desks, theirs),
            ],
        );
    }
}

/// The original needs a `Result`.
struct Fallible(Option<Parked>);

impl Future for Fallible {
    type Output = Result<(), ()>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Some(future) => Pin::new(future).poll(cx).map(Ok),
            None => Poll::Pending,
        }
    }
}

fn stream<'a>(
    name: &'static str,
    side: Side,
    desks: Desks,
    mut stream: impl Stream + Unpin + 'a,
) -> Contender<'a> {
    let waker = parent();
    contender(name, side, move |turns| {
        let mut cx = Context::from_waker(&waker);
        for _ in 0..turns {
            desks.wake(0);
            assert!(Pin::new(&mut stream).poll_next(&mut cx).is_pending());
        }
    })
}
