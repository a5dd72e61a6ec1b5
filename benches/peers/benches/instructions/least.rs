//! The least that the workloads take: the polls, without a set, and one atomic operation in place
//! of a wake.

use std::{
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering},
    task::{Context, Poll},
};

use crate::{
    attempt::{Attempt, Desks},
    future::{Shuffle, parent},
    workload::Workload,
};

pub(crate) fn run(workload: Workload, turns: u64) {
    match workload {
        Workload::Wake(count) => wake(count, turns),
        Workload::InOut(_) => ready(turns),
        Workload::Drain(count) => drain(count, turns),
        Workload::First(count) => first(count, turns),
        Workload::Batch(_) | Workload::WakeSeveral(..) => unreachable!("no cell of the table"),
    }
}

#[inline(never)]
fn poll(future: &mut Attempt, cx: &mut Context<'_>) -> Poll<u64> {
    Pin::new(future).poll(cx)
}

fn wake(count: usize, turns: u64) {
    let (mut desks, waker, mut shuffle) = (Desks::new(count), parent(), Shuffle::new());
    let mut cx = Context::from_waker(&waker);
    let mut futures: Vec<Attempt> = desks.futures().collect();
    for future in &mut futures {
        assert!(poll(future, &mut cx).is_pending());
    }
    let word = AtomicUsize::new(0);
    for _ in 0..turns {
        word.fetch_or(1, Ordering::AcqRel);
        assert!(poll(&mut futures[shuffle.next(count)], &mut cx).is_pending());
    }
}

fn ready(turns: u64) {
    let (mut desks, waker) = (Desks::new(1), parent());
    let mut cx = Context::from_waker(&waker);
    desks.finish(0);
    for _ in 0..turns {
        for mut future in desks.futures() {
            assert!(poll(&mut future, &mut cx).is_ready());
        }
    }
}

fn drain(count: usize, turns: u64) {
    let (mut desks, waker) = (Desks::new(count), parent());
    let mut cx = Context::from_waker(&waker);
    let order = Shuffle::new().permutation(count);
    for _ in 0..turns {
        desks.reset();
        let mut futures: Vec<Attempt> = desks.futures().collect();
        for future in &mut futures {
            assert!(poll(future, &mut cx).is_pending());
        }
        for index in &order {
            desks.finish(*index);
            assert!(poll(&mut futures[*index], &mut cx).is_ready());
        }
    }
}

fn first(count: usize, turns: u64) {
    let (mut desks, waker) = (Desks::new(count), parent());
    let mut cx = Context::from_waker(&waker);
    for _ in 0..turns {
        desks.reset();
        desks.finish(0);
        let mut futures: Vec<Attempt> = desks.futures().collect();
        assert!(poll(&mut futures[0], &mut cx).is_ready());
    }
}
