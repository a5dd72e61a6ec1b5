use core::{
    cell::Cell,
    marker::PhantomPinned,
    panic::AssertUnwindSafe,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};
use std::{boxed::Box, panic, vec::Vec};

use super::InlineAttempts;
use crate::attempts::AttemptSet as _;

/// What a future does, and how often it and its argument were dropped.
#[derive(Default)]
struct Control {
    is_ready: Cell<bool>,
    panics_in_poll: Cell<bool>,
    panics_in_drop: Cell<bool>,
    /// The position of its last poll in the order of all polls.
    last_poll: Cell<usize>,
    drops: Cell<usize>,
    arg_drops: Cell<usize>,
}

struct Controlled<'a>(&'a Control, &'a Cell<usize>, PhantomPinned);

impl Future for Controlled<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.1.set(self.1.get() + 1);
        self.0.last_poll.set(self.1.get());
        if self.0.panics_in_poll.get() {
            panic::resume_unwind(Box::new(()));
        }
        match self.0.is_ready.get() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

impl Drop for Controlled<'_> {
    fn drop(&mut self) {
        self.0.drops.set(self.0.drops.get() + 1);
        if self.0.panics_in_drop.get() {
            panic::resume_unwind(Box::new(()));
        }
    }
}

struct Arg<'a>(usize, &'a Control);

impl Drop for Arg<'_> {
    fn drop(&mut self) {
        self.1.arg_drops.set(self.1.arg_drops.get() + 1);
    }
}

type Set<'a> = InlineAttempts<Controlled<'a>, Arg<'a>, 3>;

fn fill<'a>(mut set: Pin<&mut Set<'a>>, controls: &'a [Control; 3], polls: &'a Cell<usize>) {
    let mut cx = Context::from_waker(Waker::noop());
    for (index, control) in controls.iter().enumerate() {
        let future = Controlled(control, polls, PhantomPinned);
        let polled = set
            .as_mut()
            .push_and_poll(Arg(index, control), future, &mut cx);
        assert!(polled.is_pending());
    }
}

fn poll(set: Pin<&mut Set<'_>>) -> Poll<Option<usize>> {
    let polled = set.poll_ready(&mut Context::from_waker(Waker::noop()));
    polled.map(|finished| finished.map(|(arg, ())| arg.0))
}

fn panics<T>(run: impl FnOnce() -> T) -> bool {
    panic::catch_unwind(AssertUnwindSafe(run)).is_err()
}

fn drops(controls: &[Control; 3]) -> [(usize, usize); 3] {
    [0, 1, 2].map(|index| {
        let control: &Control = &controls[index];
        (control.drops.get(), control.arg_drops.get())
    })
}

#[test]
fn starting_slot_rotates() {
    let (controls, polls) = (Default::default(), Cell::default());
    let mut set = pin!(Set::default());
    fill(set.as_mut(), &controls, &polls);
    let order = |set: Pin<&mut Set<'_>>| {
        assert!(poll(set).is_pending());
        let mut order = [0, 1, 2];
        order.sort_by_key(|index| controls[*index].last_poll.get());
        order
    };
    let orders = [0; 4].map(|_| order(set.as_mut()));
    assert_eq!(orders, [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]);
}

#[test]
fn full_set_has_room_again_after_an_attempt_finishes() {
    let (controls, polls) = (Default::default(), Cell::default());
    let mut set = pin!(Set::default());
    fill(set.as_mut(), &controls, &polls);
    assert!(set.is_full());
    controls[1].is_ready.set(true);
    assert_eq!(poll(set.as_mut()), Poll::Ready(Some(1)));
    assert!(!set.is_full());
    let mut rest = Vec::new();
    set.for_each(|arg| rest.push(arg.0));
    assert_eq!(rest, [0, 2]);
}

#[test]
fn attempt_that_panics_in_poll_is_dropped_and_the_others_finish() {
    let (controls, polls) = (<[Control; 3]>::default(), Cell::default());
    let mut set = pin!(Set::default());
    fill(set.as_mut(), &controls, &polls);
    controls[0].panics_in_poll.set(true);
    assert!(panics(|| poll(set.as_mut())));
    assert_eq!(drops(&controls), [(1, 1), (0, 0), (0, 0)]);
    controls
        .iter()
        .for_each(|control| control.is_ready.set(true));
    let mut finished = [(); 3].map(|()| poll(set.as_mut()));
    finished[..2].sort();
    assert_eq!(finished, [Some(1), Some(2), None].map(Poll::Ready));
}

#[test]
fn attempt_that_panics_in_its_drop_keeps_the_others() {
    for remove in [false, true] {
        let (controls, polls) = (<[Control; 3]>::default(), Cell::default());
        let mut set = pin!(Set::default());
        fill(set.as_mut(), &controls, &polls);
        controls[1].panics_in_drop.set(true);
        controls[1].is_ready.set(true);
        assert!(panics(|| match remove {
            true => set.as_mut().remove(|arg| arg.0 == 1).is_some(),
            false => poll(set.as_mut()).is_ready(),
        }));
        assert_eq!(drops(&controls), [(0, 0), (1, 1), (0, 0)]);
        assert_eq!(set.len(), 2);
        controls[2].is_ready.set(true);
        assert_eq!(poll(set.as_mut()), Poll::Ready(Some(2)));
    }
}

#[test]
fn dropping_the_set_drops_all_attempts_though_one_panics() {
    for victim in 0..3 {
        let (controls, polls) = (<[Control; 3]>::default(), Cell::default());
        let mut set = Box::pin(Set::default());
        fill(set.as_mut(), &controls, &polls);
        controls[victim].panics_in_drop.set(true);
        assert!(panics(|| drop(set)));
        assert_eq!(drops(&controls), [(1, 1); 3]);
    }
}

#[test]
fn set_is_unpin_if_its_futures_are() {
    fn is_unpin<T: Unpin>(_: &T) {}
    // The argument need not be `Unpin`.
    is_unpin(&InlineAttempts::<core::future::Ready<()>, PhantomPinned, 1>::default());
}
