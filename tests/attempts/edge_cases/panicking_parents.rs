//! Tasks whose wakers panic in one of their functions. No wake is lost.

use std::{
    cell::Cell,
    collections::BTreeSet,
    mem::ManuallyDrop,
    pin::Pin,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker},
};

use futures::Stream;
use race::Attempts;

use crate::{
    gate::{Gate, Gated},
    payload::{caught, throw},
    task::{Parent, drain, poll},
};

/// The first group alone, and with further groups.
const SIZES: [usize; 4] = [2, 64, 65, 130];

/// With a task that does not panic, the first and the last future can be woken and finish.
fn check(size: usize, gates: &[Gate], mut set: Attempts<Gated, usize>) {
    let parent = Parent::new();
    assert!(poll(&mut set, &parent).is_pending());
    for index in [size - 1, 0] {
        let wakes = parent.wakes();
        gates[index].open();
        assert!(parent.wakes() > wakes, "#{index} of {size}");
        assert_eq!(drain(&mut set, &parent), [index]);
    }
    drop(set);
    assert_eq!(Arc::strong_count(&parent), 1);
}

#[test]
fn waker_that_panics_when_it_is_woken_loses_no_wake() {
    struct Panics(AtomicUsize);
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
            throw(0);
        }
    }
    for size in SIZES {
        let (mut set, gates) = Gate::set(size);
        let task = Arc::new(Panics(AtomicUsize::new(0)));
        let waker = Waker::from(task.clone());
        let mut cx = Context::from_waker(&waker);
        for gate in &gates[1..size - 1] {
            assert!(Pin::new(&mut set).poll_next(&mut cx).is_pending());
            let wakes = task.0.load(SeqCst);
            assert_eq!(caught(|| gate.open()), Err(0));
            assert_eq!(task.0.load(SeqCst), wakes + 1);
            assert!(Pin::new(&mut set).poll_next(&mut cx).is_ready());
        }
        check(size, &gates, set);
        drop(waker);
        assert_eq!(Arc::strong_count(&task), 1);
    }
}

#[test]
fn waker_that_panics_when_it_is_dropped_loses_no_wake() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for Panics {
        fn drop(&mut self) {
            throw(0);
        }
    }
    for size in SIZES {
        let (mut set, gates) = Gate::set(size);
        let waker = Waker::from(Arc::new(Panics));
        let polled = Pin::new(&mut set).poll_next(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        drop(waker);
        let parent = Parent::new();
        assert!(caught(|| poll(&mut set, &parent).is_pending()).is_err());
        check(size, &gates, set);
    }
}

#[test]
#[expect(unsafe_code, reason = "only a handmade waker panics when it is cloned")]
fn waker_that_panics_when_it_is_cloned_loses_no_wake() {
    static TABLE: RawWakerVTable = RawWakerVTable::new(|_| throw(0), |_| {}, |_| {}, |_| {});
    // SAFETY: the functions do not use the data.
    let waker = unsafe { Waker::from_raw(RawWaker::new(ptr::null(), &TABLE)) };
    for size in SIZES {
        let (mut set, gates) = Gate::set(size);
        let parent = Parent::new();
        assert!(poll(&mut set, &parent).is_pending());
        let mut cx = Context::from_waker(&waker);
        let polled = caught(|| Pin::new(&mut set).poll_next(&mut cx).is_pending());
        assert_eq!(polled, Err(0));
        check(size, &gates, set);
    }
}

thread_local! {
    /// The number of calls of wakers of `COUNTING` until one of them panics.
    static CALLS_LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Counts a call of any function of a waker, and panics in the call that was chosen.
fn count_call() {
    let left = CALLS_LEFT.get();
    CALLS_LEFT.set(left.wrapping_sub(1));
    if left == 0 {
        throw(0);
    }
}

static COUNTING: RawWakerVTable = RawWakerVTable::new(
    |task| {
        count_call();
        RawWaker::new(task, &COUNTING)
    },
    |_| count_call(),
    |_| count_call(),
    |_| count_call(),
);

/// Polls with the waker of one of several tasks, which have numbers.
#[expect(unsafe_code, reason = "only a handmade waker panics in every function")]
fn poll_counting(set: &mut Attempts<Gated, usize>, task: usize) -> Option<usize> {
    let raw = RawWaker::new(ptr::without_provenance(task), &COUNTING);
    // Not dropped: the test is about the waker's clones in the set.
    // SAFETY: the functions do not dereference the data.
    let waker = ManuallyDrop::new(unsafe { Waker::from_raw(raw) });
    match Pin::new(set).poll_next(&mut Context::from_waker(&waker)) {
        Poll::Ready(finished) => finished.map(|(index, ())| index),
        Poll::Pending => None,
    }
}

#[test]
fn waker_that_panics_in_any_one_call_loses_no_wake() {
    for size in [3, 64, 65, 66, 130] {
        let victims = BTreeSet::from([1, size / 2, size - 2]);
        let script = |panicking_call: usize| {
            let (mut set, gates) = Gate::set(size);
            CALLS_LEFT.set(panicking_call);
            let mut panics = 0;
            let mut out = BTreeSet::new();
            for task in [1, 2] {
                panics += usize::from(caught(|| poll_counting(&mut set, task)).is_err());
            }
            for (task, index) in (3..).zip(&victims) {
                // Woken by the waker of one task, and polled by another.
                panics += usize::from(caught(|| gates[*index].open()).is_err());
                match caught(|| poll_counting(&mut set, task)) {
                    Ok(finished) => out.extend(finished),
                    Err(_) => panics += 1,
                }
            }
            for gate in &gates {
                panics += usize::from(caught(|| gate.wake()).is_err());
            }
            let parent = Parent::new();
            match caught(|| drain(&mut set, &parent)) {
                Ok(finished) => out.extend(finished),
                Err(_) => {
                    panics += 1;
                    out.extend(drain(&mut set, &parent));
                }
            }
            assert_eq!(out, victims, "of {size}, call {panicking_call}");
            check(size, &gates, set);
            panics
        };
        let calls = (0..).take_while(|call| script(*call) == 1).count();
        assert!(calls >= 5, "{calls} calls of wakers");
    }
}
