//! Loom explores every interleaving of wakers and poller. Under loom a group has two members.

use alloc::{boxed::Box, task::Wake, vec, vec::Vec};
use core::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, Waker},
};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use futures_core::Stream as _;
use loom::{
    future::{AtomicWaker, block_on},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use super::{AttemptSet as _, Attempts, Side, ready_set::ReadySet};

/// A future that is ready once it is set.
#[derive(Clone)]
struct Flag(Arc<(AtomicBool, AtomicWaker)>);

impl Flag {
    fn new() -> Self {
        Self(Arc::new((AtomicBool::new(false), AtomicWaker::new())))
    }

    fn set(&self) {
        let (set, waker) = &*self.0;
        set.store(true, Ordering::Release);
        waker.wake();
    }

    /// Wakes the future without setting it.
    fn wake(&self) {
        self.0.1.wake();
    }
}

impl Future for Flag {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let (set, waker) = &*self.0;
        waker.register_by_ref(cx.waker());
        match set.load(Ordering::Acquire) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

impl<F, A> Attempts<F, A> {
    /// Returns the waker of a slot.
    fn waker_of(&mut self, slot: usize) -> Waker {
        let ready = self.ready_mut().unwrap();
        ready.own_waker(slot)
    }
}

/// Returns a set of flags that have been polled once.
fn polled(count: usize) -> (Attempts<Flag, usize>, Vec<Flag>) {
    let flags = vec![(); count]
        .iter()
        .map(|()| Flag::new())
        .collect::<Vec<_>>();
    let mut attempts = Attempts::new();
    for (index, flag) in flags.iter().enumerate() {
        attempts.push_with(index, flag.clone());
    }
    let mut cx = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut attempts).poll_next(&mut cx).is_pending());
    (attempts, flags)
}

/// Sets two of `count` flags on two threads while this thread awaits both.
fn two_wakers(count: usize, set: [usize; 2]) {
    loom::model(move || {
        let (mut attempts, flags) = polled(count);
        let threads = set.map(|index| {
            let flag = flags[index].clone();
            thread::spawn(move || flag.set())
        });
        let mut out = block_on(async {
            let (first, ()) = attempts.next().await.unwrap();
            let (second, ()) = attempts.next().await.unwrap();
            [first, second]
        });
        out.sort_unstable();
        assert_eq!(out, set);
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn no_wake_is_lost_between_members_of_the_first_group() {
    two_wakers(2, [0, 1]);
}

#[test]
fn no_wake_is_lost_between_the_first_group_and_another() {
    two_wakers(3, [1, 2]);
}

#[test]
fn no_wake_is_lost_between_members_of_a_far_group() {
    two_wakers(4, [2, 3]);
}

#[test]
fn no_wake_is_lost_between_far_groups() {
    two_wakers(5, [2, 4]);
}

#[test]
fn no_wake_is_lost_beside_a_spurious_wake() {
    loom::model(|| {
        let (mut attempts, flags) = polled(3);
        let (first, second) = (flags[1].clone(), flags[2].clone());
        let threads = [
            thread::spawn(move || first.wake()),
            thread::spawn(move || second.set()),
        ];
        assert_eq!(block_on(attempts.next()), Some((2, ())));
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn new_parent_is_woken_while_the_old_one_is_being_woken() {
    for last in [1, 2] {
        loom::model(move || {
            let (mut attempts, flags) = polled(last + 1);
            let flag = flags[last].clone();
            let thread = thread::spawn(move || flag.set());
            // The set was polled with a no-op waker; `block_on` polls it with another.
            assert_eq!(block_on(attempts.next()), Some((last, ())));
            thread.join().unwrap();
        });
    }
}

#[test]
fn set_may_be_dropped_while_it_is_woken() {
    for count in [2, 3] {
        loom::model(move || {
            let (mut attempts, flags) = polled(count);
            let threads: Vec<_> = [0, count - 1]
                .into_iter()
                .map(|index| {
                    let flag = flags[index].clone();
                    thread::spawn(move || flag.set())
                })
                .collect();
            block_on(poll_fn(|cx| {
                Poll::Ready(Pin::new(&mut attempts).poll_next(cx).is_ready())
            }));
            drop(attempts);
            for thread in threads {
                thread.join().unwrap();
            }
        });
    }
}

#[test]
fn slot_may_be_refilled_while_its_old_waker_is_used() {
    for last in [1, 2] {
        loom::model(move || {
            let (mut attempts, flags) = polled(last + 1);
            flags[last].set();
            assert_eq!(block_on(attempts.next()), Some((last, ())));
            let old = flags[last].clone();
            let new = Flag::new();
            attempts.push_with(7, new.clone());
            let threads = [
                thread::spawn(move || old.wake()),
                thread::spawn(move || new.set()),
            ];
            assert_eq!(block_on(attempts.next()), Some((7, ())));
            for thread in threads {
                thread.join().unwrap();
            }
        });
    }
}

#[test]
fn group_woken_while_it_is_taken_hides_no_other_group() {
    loom::model(|| {
        let (mut attempts, flags) = polled(3);
        let below = flags[1].clone();
        // A waker itself: it may wake several times, and its attempt is never ready.
        let group = attempts.waker_of(2);
        let threads = [
            thread::spawn(move || below.set()),
            thread::spawn(move || {
                group.wake_by_ref();
                group.wake_by_ref();
            }),
        ];
        assert_eq!(block_on(attempts.next()), Some((1, ())));
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn no_wake_is_lost_between_the_timer_and_attempts() {
    loom::model(|| {
        let (mut attempts, flags) = polled(3);
        let timer = {
            let set = Pin::new(&mut attempts);
            let (timer, was_woken) = set.side_waker(Side::Timer, Waker::noop()).unwrap();
            assert!(!was_woken);
            Waker::clone(&timer)
        };
        let flag = flags[2].clone();
        let threads = [
            thread::spawn(move || timer.wake()),
            thread::spawn(move || flag.set()),
        ];
        let (mut is_finished, mut is_timer_woken) = (false, false);
        block_on(poll_fn(|cx| {
            while let Poll::Ready(Some(finished)) = Pin::new(&mut attempts).poll_next(cx) {
                assert_eq!(finished, (2, ()));
                is_finished = true;
            }
            let set = Pin::new(&mut attempts);
            is_timer_woken |= set.side_waker(Side::Timer, cx.waker()).unwrap().1;
            match is_finished && is_timer_woken {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        }));
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

struct PanicsOnDrop;

impl Wake for PanicsOnDrop {
    fn wake(self: alloc::sync::Arc<Self>) {}
}

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        resume_unwind(Box::new(()));
    }
}

fn panicking_waker() -> Waker {
    Waker::from(alloc::sync::Arc::new(PanicsOnDrop))
}

fn caught<T>(run: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(run)).ok()
}

#[test]
fn waker_that_panics_when_it_is_replaced_loses_no_wake_of_the_first_group() {
    loom::model(|| {
        let mut set = ReadySet::boxed();
        let slot = set.occupy();
        set.slots_of_round(&panicking_waker()); // the set keeps the last clone
        let own = set.own_waker(slot);
        // The thread panics if it takes the waker.
        let thread = thread::spawn(move || _ = caught(|| own.wake()));
        let mut next = || caught(|| set.slots_of_round(Waker::noop()))?.pop();
        let first = next();
        thread.join().unwrap();
        assert_eq!(first.or_else(next), Some(slot));
    });
}

#[test]
fn waker_that_panics_when_it_is_replaced_loses_no_wake_of_a_far_group() {
    loom::model(|| {
        let (mut attempts, flags) = polled(3);
        let mut poll = |waker: &Waker| {
            let mut cx = Context::from_waker(waker);
            Pin::new(&mut attempts).poll_next(&mut cx)
        };
        assert!(poll(&panicking_waker()).is_pending()); // the root keeps the last clone
        let flag = flags[2].clone();
        let thread = thread::spawn(move || _ = caught(|| flag.set()));
        let finished = match caught(|| poll(Waker::noop())) {
            Some(Poll::Ready(finished)) => finished,
            _ => block_on(attempts.next()),
        };
        assert_eq!(finished, Some((2, ())));
        thread.join().unwrap();
    });
}
