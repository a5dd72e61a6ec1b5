//! The workloads, for any set.
//!
//! `push` and `poll` are calls for every set. So no set gains from being inlined into a loop.

use std::task::{Context, Poll};

use crate::{
    attempt::{Attempt, Desks},
    contenders::Set,
    future::{Shuffle, parent},
};

/// What happens in a turn.
#[derive(Clone, Copy)]
pub(crate) enum Workload {
    /// Wakes one of this many pending futures, then polls the set, which stays pending.
    Wake(usize),
    /// Wakes `.0` of `.1` pending futures between two polls.
    WakeSeveral(usize, usize),
    /// Pushes a future that is ready at its first poll beside this many idle ones, and polls until
    /// it finishes.
    InOut(usize),
    /// Pushes this many futures that are ready at their first poll, and polls until all finish.
    Batch(usize),
    /// Makes a set, pushes this many futures, polls once, makes the futures ready in random order,
    /// polling until each finishes, and drops the set.
    Drain(usize),
    /// Makes a set, pushes this many futures, of which the first is ready, polls until it finishes,
    /// and drops the set with the others.
    First(usize),
}

impl Workload {
    /// Returns the number of operations per turn. The whole turn of `First` is one operation.
    pub(crate) fn operations(self) -> u64 {
        match self {
            Self::Wake(_) | Self::InOut(_) | Self::First(_) => 1,
            Self::WakeSeveral(woken, _) => woken as u64,
            Self::Batch(count) | Self::Drain(count) => count as u64,
        }
    }
}

pub(crate) fn run<S: Set<Attempt>>(workload: Workload, turns: u64) {
    match workload {
        Workload::Wake(count) => wake::<S>(count, turns),
        Workload::WakeSeveral(woken, count) => wake_several::<S>(woken, count, turns),
        Workload::InOut(idle) => in_and_out::<S>(idle, turns),
        Workload::Batch(count) => batch::<S>(count, turns),
        Workload::Drain(count) => drain::<S>(count, turns),
        Workload::First(count) => first::<S>(count, turns),
    }
}

#[inline(never)]
fn push<S: Set<Attempt>>(set: &mut S, future: Attempt) {
    set.push(future);
}

#[inline(never)]
fn poll<S: Set<Attempt>>(set: &mut S, cx: &mut Context<'_>) -> Poll<bool> {
    set.poll(cx)
}

fn wake<S: Set<Attempt>>(count: usize, turns: u64) {
    let (mut desks, waker, mut shuffle) = (Desks::new(count), parent(), Shuffle::new());
    let mut cx = Context::from_waker(&waker);
    let mut set = idle::<S>(&mut desks, count, &mut cx);
    for _ in 0..turns {
        desks.wake(shuffle.next(count));
        assert!(poll(&mut set, &mut cx).is_pending());
    }
}

fn wake_several<S: Set<Attempt>>(woken: usize, count: usize, turns: u64) {
    let (mut desks, waker, mut shuffle) = (Desks::new(count), parent(), Shuffle::new());
    let mut cx = Context::from_waker(&waker);
    let mut set = idle::<S>(&mut desks, count, &mut cx);
    for _ in 0..turns {
        (0..woken).for_each(|_| desks.wake(shuffle.next(count)));
        assert!(poll(&mut set, &mut cx).is_pending());
    }
}

fn in_and_out<S: Set<Attempt>>(count: usize, turns: u64) {
    let (mut desks, waker) = (Desks::new(count), parent());
    let mut cx = Context::from_waker(&waker);
    let mut set = idle::<S>(&mut desks, count + 1, &mut cx);
    let mut ready = Desks::new(1);
    ready.finish(0);
    for _ in 0..turns {
        ready.futures().for_each(|future| push(&mut set, future));
        assert_eq!(poll(&mut set, &mut cx), Poll::Ready(true));
    }
}

fn batch<S: Set<Attempt>>(count: usize, turns: u64) {
    let (mut desks, waker) = (Desks::new(count), parent());
    let mut cx = Context::from_waker(&waker);
    let mut set = S::with_room_for(count);
    (0..count).for_each(|index| desks.finish(index));
    for _ in 0..turns {
        for future in desks.futures() {
            push(&mut set, future);
        }
        (0..count).for_each(|_| poll_until_finished(&mut set, &mut cx));
    }
}

fn drain<S: Set<Attempt>>(count: usize, turns: u64) {
    let (mut desks, waker) = (Desks::new(count), parent());
    let mut cx = Context::from_waker(&waker);
    let order = Shuffle::new().permutation(count);
    for _ in 0..turns {
        desks.reset();
        let mut set = S::with_room_for(count);
        for future in desks.futures() {
            push(&mut set, future);
        }
        assert!(poll(&mut set, &mut cx).is_pending());
        for index in &order {
            desks.finish(*index);
            poll_until_finished(&mut set, &mut cx);
        }
    }
}

fn first<S: Set<Attempt>>(count: usize, turns: u64) {
    let (mut desks, waker) = (Desks::new(count), parent());
    let mut cx = Context::from_waker(&waker);
    for _ in 0..turns {
        desks.reset();
        desks.finish(0);
        let mut set = S::with_room_for(count);
        for future in desks.futures() {
            push(&mut set, future);
        }
        poll_until_finished(&mut set, &mut cx);
    }
}

/// Returns a set with one future per desk, each of which was polled.
fn idle<S: Set<Attempt>>(desks: &mut Desks, room: usize, cx: &mut Context<'_>) -> S {
    let mut set = S::with_room_for(room);
    for future in desks.futures() {
        push(&mut set, future);
    }
    while !desks.all_pending() {
        assert!(poll(&mut set, cx).is_pending());
    }
    set
}

/// Polls until a future finishes: some sets return `Pending` and wake themselves.
fn poll_until_finished<S: Set<Attempt>>(set: &mut S, cx: &mut Context<'_>) {
    while poll(set, cx) != Poll::Ready(true) {}
}
