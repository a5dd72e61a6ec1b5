//! Every interleaving of wakers and poller, by loom, on the real code. Groups have four bits here, so
//! that two or three attempts are on the stack: the first group has one slot.

use alloc::{vec, vec::Vec};
use core::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use futures_core::Stream as _;
use loom::{
    future::{AtomicWaker, block_on},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use super::Attempts;

/// Ready once it was set.
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

    /// Wakes for nothing.
    fn disturb(&self) {
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
    /// What the attempt in a slot was polled with.
    fn waker_of(&self, slot: usize) -> Waker {
        let ready = self.ready.as_ref().unwrap();
        (*ready.waker(slot)).clone()
    }
}

/// A set of flags, all of which have been polled.
fn polled(count: usize) -> (Attempts<Flag, usize>, Vec<Flag>) {
    let flags = vec![(); count]
        .iter()
        .map(|()| Flag::new())
        .collect::<Vec<_>>();
    let mut attempts = Attempts::new();
    for (index, flag) in flags.iter().enumerate() {
        attempts.push(index, flag.clone());
    }
    let mut cx = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut attempts).poll_next(&mut cx).is_pending());
    (attempts, flags)
}

/// Sets two flags of some on two threads, while this one awaits both.
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
fn no_wake_is_lost_in_one_group() {
    // One in the first group, whose parent is the task, and one on the stack.
    two_wakers(2, [0, 1]);
}

#[test]
fn no_wake_is_lost_among_members_of_a_group_on_the_stack() {
    two_wakers(3, [1, 2]);
}

#[test]
fn no_wake_is_lost_among_groups_on_the_stack() {
    two_wakers(6, [1, 5]);
}

#[test]
fn no_wake_is_lost_by_one_who_is_disturbed() {
    loom::model(|| {
        let (mut attempts, flags) = polled(3);
        let (first, second) = (flags[1].clone(), flags[2].clone());
        let threads = [
            thread::spawn(move || first.disturb()),
            thread::spawn(move || second.set()),
        ];
        assert_eq!(block_on(attempts.next()), Some((2, ())));
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn a_new_parent_is_woken_though_the_old_one_is_being_woken() {
    loom::model(|| {
        let (mut attempts, flags) = polled(2);
        let flag = flags[1].clone();
        let thread = thread::spawn(move || flag.set());
        // The set has been polled with a waker that does nothing; from here on there is another.
        assert_eq!(block_on(attempts.next()), Some((1, ())));
        thread.join().unwrap();
    });
}

#[test]
fn the_set_may_go_while_it_is_woken() {
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
fn a_slot_may_be_filled_again_while_its_old_waker_is_used() {
    loom::model(|| {
        let (mut attempts, flags) = polled(2);
        flags[1].set();
        assert_eq!(block_on(attempts.next()), Some((1, ())));
        let old = flags[1].clone();
        let new = Flag::new();
        attempts.push(7, new.clone());
        let threads = [
            thread::spawn(move || old.disturb()),
            thread::spawn(move || new.set()),
        ];
        assert_eq!(block_on(attempts.next()), Some((7, ())));
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn a_group_that_wakes_while_it_is_visited_hides_no_other() {
    loom::model(|| {
        let (mut attempts, flags) = polled(6);
        let below = flags[1].clone();
        // The wakers themselves, which wake as often as they like.
        let group = attempts.waker_of(5);
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
