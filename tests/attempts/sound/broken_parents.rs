//! Tasks whose wakers panic.

use std::{
    pin::Pin,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, RawWaker, RawWakerVTable, Wake, Waker},
};

use futures::Stream;
use race::Attempts;

use crate::probe::{Gate, Gated, Parent, caught, drain, poll, throw};

/// Few, and more than the first 61.
const SIZES: [usize; 4] = [2, 61, 62, 130];

/// With a task that is in order, both ends of the set are woken as ever.
fn check(size: usize, gates: &[Gate], mut set: Attempts<Gated, usize>) {
    let parent = Parent::new();
    assert!(poll(&mut set, &parent).is_pending());
    for place in [size - 1, 0] {
        let wakes = parent.wakes();
        gates[place].open();
        assert!(parent.wakes() > wakes, "#{place} of {size}");
        assert_eq!(drain(&mut set, &parent), [place]);
    }
    drop(set);
    assert_eq!(Arc::strong_count(&parent), 1);
}

#[test]
fn a_waker_that_panics_when_it_is_woken_costs_no_wake() {
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
fn a_waker_that_panics_when_it_is_dropped_costs_no_wake() {
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
#[expect(unsafe_code, reason = "only a waker by hand panics when it is cloned")]
fn a_waker_that_panics_when_it_is_cloned_costs_no_wake() {
    static TABLE: RawWakerVTable = RawWakerVTable::new(|_| throw(0), |_| {}, |_| {}, |_| {});
    // SAFETY: its functions do nothing with its data.
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
