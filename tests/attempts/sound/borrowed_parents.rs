//! Tasks whose wakers are lent from the stack and become others when they are cloned, and a task whose
//! last waker is the set's.

#![expect(unsafe_code, reason = "such wakers are made by hand")]

use std::{
    mem::ManuallyDrop,
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

use crate::probe::{Gate, Gated, Parent, caught, throw};

/// Where a lent waker finds its task.
struct Place(Arc<Parent>);

static LENT: RawWakerVTable = RawWakerVTable::new(
    |place| {
        // SAFETY: the data of such a waker is a place that outlives it.
        let Place(parent) = unsafe { &*place.cast::<Place>() };
        let waker = ManuallyDrop::new(Waker::from(parent.clone()));
        RawWaker::new(waker.data(), waker.vtable())
    },
    |_| unreachable!("it is lent"),
    |place| {
        // SAFETY: as above.
        let Place(parent) = unsafe { &*place.cast::<Place>() };
        parent.clone().wake();
    },
    |_| {},
);

fn poll_lent(set: &mut Attempts<Gated, usize>, place: &Place) -> bool {
    let raw = RawWaker::new(ptr::from_ref(place).cast(), &LENT);
    // SAFETY: the table keeps the contract, and the place outlives the waker.
    let waker = unsafe { Waker::from_raw(raw) };
    let mut cx = Context::from_waker(&waker);
    Pin::new(set).poll_next(&mut cx).is_ready()
}

#[test]
fn another_task_in_the_same_place_is_another_task() {
    for size in [2, 61, 62, 130] {
        let (mut set, gates) = Gate::set(size);
        let (first, second) = (Parent::new(), Parent::new());
        let mut place = Place(first.clone());
        assert!(!poll_lent(&mut set, &place));
        place.0 = second.clone();
        assert!(!poll_lent(&mut set, &place));
        gates[size - 1].open();
        assert_eq!((first.wakes(), second.wakes()), (0, 1), "of {size}");
        assert!(poll_lent(&mut set, &place));
    }
}

#[test]
fn a_task_that_panics_when_the_set_lets_go_of_it_keeps_no_future_from_being_dropped() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for Panics {
        fn drop(&mut self) {
            throw(0);
        }
    }
    struct OnDrop(Arc<AtomicUsize>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    for size in [2, 61, 62, 130] {
        let dropped = Arc::new(AtomicUsize::new(0));
        let mut set = Attempts::new();
        for place in 0..size {
            let guard = OnDrop(dropped.clone());
            set.push(place, async move {
                let _guard = guard;
                std::future::pending::<()>().await;
            });
        }
        let waker = Waker::from(Arc::new(Panics));
        let mut cx = Context::from_waker(&waker);
        let polled = Pin::new(&mut set).poll_next(&mut cx);
        assert!(polled.is_pending());
        drop(waker);
        assert_eq!(caught(|| drop(set)), Err(0));
        assert_eq!(dropped.load(SeqCst), size);
    }
}
