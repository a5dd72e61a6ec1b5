//! The same tests for both memories of slots: inline and on the heap.

use core::{
    cell::Cell,
    marker::PhantomPinned,
    panic::AssertUnwindSafe,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};
use std::{boxed::Box, panic, rc::Rc, vec::Vec};

use super::{RoundRobin, SlotMemory};
use crate::attempts::{AttemptSet as _, slot::Slot};

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

/// The address of a future that must not move, and the waker of its last poll.
struct Controlled {
    control: Rc<Control>,
    polls: Rc<Cell<usize>>,
    address: Cell<usize>,
    _pinned: PhantomPinned,
}

impl Future for Controlled {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let here = (&raw const *self).addr();
        let before = self.address.replace(here);
        assert!(before == 0 || before == here, "a future moved");
        assert!(cx.waker().will_wake(Waker::noop()), "not the task's waker");
        self.polls.set(self.polls.get() + 1);
        self.control.last_poll.set(self.polls.get());
        if self.control.panics_in_poll.get() {
            panic::resume_unwind(Box::new(()));
        }
        match self.control.is_ready.get() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

impl Drop for Controlled {
    fn drop(&mut self) {
        self.control.drops.set(self.control.drops.get() + 1);
        if self.control.panics_in_drop.get() {
            panic::resume_unwind(Box::new(()));
        }
    }
}

struct Arg(usize, Rc<Control>);

impl Drop for Arg {
    fn drop(&mut self) {
        self.1.arg_drops.set(self.1.arg_drops.get() + 1);
    }
}

trait Memory: SlotMemory<Controlled, Arg> {}
impl<M: SlotMemory<Controlled, Arg>> Memory for M {}

type Controls = [Rc<Control>; 3];

/// Pushes a future for each control.
fn fill<M: Memory>(mut set: Pin<&mut RoundRobin<M>>, controls: &Controls) {
    let mut cx = Context::from_waker(Waker::noop());
    let polls = Rc::default();
    for (index, control) in controls.iter().enumerate() {
        let future = Controlled {
            control: Rc::clone(control),
            polls: Rc::clone(&polls),
            address: Cell::new(0),
            _pinned: PhantomPinned,
        };
        let arg = Arg(index, Rc::clone(control));
        assert!(
            set.as_mut()
                .push_and_poll(arg, future, &mut cx)
                .is_pending()
        );
    }
}

fn poll<M: Memory>(set: Pin<&mut RoundRobin<M>>) -> Poll<Option<usize>> {
    let polled = set.poll_ready(&mut Context::from_waker(Waker::noop()));
    polled.map(|finished| finished.map(|(arg, ())| arg.0))
}

fn panics<T>(run: impl FnOnce() -> T) -> bool {
    panic::catch_unwind(AssertUnwindSafe(run)).is_err()
}

fn drops(controls: &Controls) -> [(usize, usize); 3] {
    [0, 1, 2].map(|index| {
        let control: &Control = &controls[index];
        (control.drops.get(), control.arg_drops.get())
    })
}

/// The order in which a poll, which finds nothing ready, polls the attempts.
fn order<M: Memory>(set: Pin<&mut RoundRobin<M>>, controls: &Controls) -> Vec<usize> {
    let attempts = set.as_ref().len();
    assert!(poll(set).is_pending());
    let mut order = [0, 1, 2];
    order.sort_by_key(|index| controls[*index].last_poll.get());
    order[3 - attempts..].to_vec()
}

fn starting_slot_rotates<M: Memory>() {
    let controls = Controls::default();
    let mut set = pin!(RoundRobin::<M>::new());
    fill(set.as_mut(), &controls);
    let orders = [0; 4].map(|_| order(set.as_mut(), &controls));
    assert_eq!(orders, [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]);
}

fn starting_slot_rotates_among_the_occupied_ones<M: Memory>() {
    let controls = Controls::default();
    let mut set = pin!(RoundRobin::<M>::new());
    fill(set.as_mut(), &controls);
    assert!(set.as_mut().remove(|arg| arg.0 == 1).is_some());
    let orders = [0; 3].map(|_| order(set.as_mut(), &controls));
    assert_eq!(orders, [[0, 2], [2, 0], [0, 2]]);
}

fn slot_is_free_again_after_its_attempt_finishes<M: Memory>() {
    let controls = Controls::default();
    let mut set = pin!(RoundRobin::<M>::new());
    fill(set.as_mut(), &controls);
    let count = set.slots.count();
    assert_eq!(set.is_full(), !M::GROWS);
    controls[1].is_ready.set(true);
    assert_eq!(poll(set.as_mut()), Poll::Ready(Some(1)));
    assert!(!set.is_full());
    let mut rest = Vec::new();
    set.for_each(|arg| rest.push(arg.0));
    assert_eq!(rest, [0, 2]);
    assert!(set.as_mut().remove(|_| true).is_some() && set.as_mut().remove(|_| true).is_some());
    assert!(set.is_empty());
    fill(set.as_mut(), &Controls::default());
    assert_eq!((set.len(), set.slots.count()), (3, count));
}

fn attempt_that_panics_in_poll_is_dropped_and_the_others_finish<M: Memory>() {
    let controls = Controls::default();
    let mut set = pin!(RoundRobin::<M>::new());
    fill(set.as_mut(), &controls);
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

fn attempt_that_panics_in_its_drop_keeps_the_others<M: Memory>() {
    for remove in [false, true] {
        let controls = Controls::default();
        let mut set = pin!(RoundRobin::<M>::new());
        fill(set.as_mut(), &controls);
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

fn dropping_the_set_drops_all_attempts_though_one_panics<M: Memory>() {
    for victim in 0..3 {
        let controls = Controls::default();
        let mut set = Box::pin(RoundRobin::<M>::new());
        fill(set.as_mut(), &controls);
        controls[victim].panics_in_drop.set(true);
        assert!(panics(|| drop(set)));
        assert_eq!(drops(&controls), [(1, 1); 3]);
    }
}

macro_rules! tests {
    ($($name:ident)*) => {
        mod inline {
            $(#[test]
            fn $name() {
                super::$name::<[super::Slot<super::Controlled, super::Arg>; 3]>();
            })*
        }

        #[cfg(feature = "alloc")]
        mod on_the_heap {
            $(#[test]
            fn $name() {
                super::$name::<crate::attempts::one_waker::Blocks<super::Controlled, super::Arg>>();
            })*
        }
    };
}

tests! {
    starting_slot_rotates
    starting_slot_rotates_among_the_occupied_ones
    slot_is_free_again_after_its_attempt_finishes
    attempt_that_panics_in_poll_is_dropped_and_the_others_finish
    attempt_that_panics_in_its_drop_keeps_the_others
    dropping_the_set_drops_all_attempts_though_one_panics
}

fn is_unpin<T: Unpin>(_: &T) {}

#[test]
fn inline_set_is_unpin_if_its_futures_are() {
    // The argument need not be `Unpin`.
    is_unpin(&crate::attempts::InlineAttempts::<
        core::future::Ready<()>,
        PhantomPinned,
        1,
    >::new());
}

#[cfg(feature = "alloc")]
#[test]
fn set_on_the_heap_is_unpin() {
    is_unpin(&crate::attempts::OneWakerAttempts::<
        PhantomPinned,
        PhantomPinned,
    >::new());
}
