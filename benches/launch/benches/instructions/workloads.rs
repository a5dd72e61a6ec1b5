//! The workloads of whole races.

use std::{
    future::{Pending, Ready, pending, ready},
    hint::black_box,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures_core::Stream;
use race::{
    InlineRace,
    source::Of,
    tokio::{Race, TokioTimer},
};

const DELAY: Duration = Duration::from_millis(50);

type Attempt = Ready<Result<u64, ()>>;

pub(crate) struct Workload {
    pub(crate) name: &'static str,
    /// The most instructions that a turn may take.
    pub(crate) at_most: u64,
    /// Runs this many turns.
    pub(crate) run: fn(u64),
}

pub(crate) const WORKLOADS: [Workload; 7] = [
    workload("a stream of three, the first is ready", 430, |turns| {
        repeat(turns, || {
            let mut race = Race::of(DELAY, attempts([Ok(1), Ok(2), Ok(3)]));
            assert!(poll_next(Pin::new(&mut race)).is_ready());
        });
    }),
    workload("the same to its end, without a delay", 785, |turns| {
        repeat(turns, || {
            let mut race = Race::of(Duration::ZERO, attempts([Ok(1), Ok(2), Ok(3)]));
            for _ in 0..3 {
                assert!(poll_next(Pin::new(&mut race)).is_ready());
            }
        });
    }),
    workload("the same in place", 190, |turns| {
        repeat(turns, || {
            let attempts = attempts([Ok(1), Ok(2), Ok(3)]);
            let mut race = pin!(InlineRace::<3, _, _>::at(TokioTimer::new()).of(DELAY, attempts));
            assert!(poll_next(race.as_mut()).is_ready());
        });
    }),
    workload("first of three, ready", 450, |turns| {
        repeat(turns, || {
            let race = Race::of(DELAY, attempts([Ok(1), Ok(2), Ok(3)]));
            assert!(poll(race.first()).is_ready());
        });
    }),
    workload("first_ok of three, the first is ready", 565, |turns| {
        repeat(turns, || {
            let race = Race::of(DELAY, attempts([Ok(1), Ok(2), Ok(3)]));
            assert!(poll(race.first_ok()).is_ready());
        });
    }),
    workload("first_ok of three, two fail at once", 1_140, |turns| {
        repeat(turns, || {
            let race = Race::of(DELAY, attempts([Err(()), Err(()), Ok(3)]));
            assert!(poll(race.first_ok()).is_ready());
        });
    }),
    workload("a poll while two run and nothing has woken", 75, |turns| {
        let mut race: Race<_> = Race::of(Duration::ZERO, [pending::<()>(), pending()]);
        idle(&mut race, turns);
    }),
];

const fn workload(name: &'static str, at_most: u64, run: fn(u64)) -> Workload {
    Workload { name, at_most, run }
}

#[inline(never)]
fn repeat(turns: u64, run: impl Fn()) {
    for _ in 0..turns {
        run();
    }
}

#[inline(never)]
fn idle(race: &mut Race<Of<std::array::IntoIter<Pending<()>, 2>, Pending<()>>>, turns: u64) {
    for _ in 0..turns {
        assert!(poll_next(Pin::new(&mut *race)).is_pending());
    }
}

fn attempts(outputs: [Result<u64, ()>; 3]) -> [Attempt; 3] {
    black_box(outputs.map(ready))
}

fn poll<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn poll_next<S: Stream>(stream: Pin<&mut S>) -> Poll<Option<S::Item>> {
    stream.poll_next(&mut Context::from_waker(Waker::noop()))
}
