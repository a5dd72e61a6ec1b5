//! Wakers on the stack, whose clones have other data, and a task whose last waker is the set's.

#![expect(unsafe_code, reason = "only a handmade waker borrows its data")]

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

use crate::{
    gate::{Gate, Gated},
    payload::{caught, throw},
    task::Parent,
};

/// The data of a borrowed waker.
struct Lender(Arc<Parent>);

static BORROWED: RawWakerVTable = RawWakerVTable::new(
    |lender| {
        // SAFETY: the data of a borrowed waker is a `Lender` that outlives it.
        let Lender(parent) = unsafe { &*lender.cast::<Lender>() };
        let waker = ManuallyDrop::new(Waker::from(parent.clone()));
        RawWaker::new(waker.data(), waker.vtable())
    },
    |_| unreachable!("a borrowed waker is not consumed"),
    |lender| {
        // SAFETY: as above.
        let Lender(parent) = unsafe { &*lender.cast::<Lender>() };
        parent.clone().wake();
    },
    |_| {},
);

fn poll_borrowed(set: &mut Attempts<Gated, usize>, lender: &Lender) -> bool {
    let raw = RawWaker::new(ptr::from_ref(lender).cast(), &BORROWED);
    // SAFETY: the vtable keeps the contract of `RawWaker`, and the lender outlives the waker.
    let waker = unsafe { Waker::from_raw(raw) };
    let mut cx = Context::from_waker(&waker);
    Pin::new(set).poll_next(&mut cx).is_ready()
}

#[test]
fn waker_with_the_same_data_may_be_of_another_task() {
    for size in [2, 64, 65, 130] {
        let (mut set, gates) = Gate::set(size);
        let (first, second) = (Parent::new(), Parent::new());
        let mut lender = Lender(first.clone());
        assert!(!poll_borrowed(&mut set, &lender));
        lender.0 = second.clone();
        assert!(!poll_borrowed(&mut set, &lender));
        gates[size - 1].open();
        assert_eq!((first.wakes(), second.wakes()), (0, 1), "of {size}");
        assert!(poll_borrowed(&mut set, &lender));
    }
}

#[test]
fn task_that_panics_when_the_set_drops_its_waker_keeps_no_future_alive() {
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
    for size in [2, 64, 65, 130] {
        let dropped = Arc::new(AtomicUsize::new(0));
        let mut set = Attempts::new();
        for index in 0..size {
            let guard = OnDrop(dropped.clone());
            set.push_with(index, async move {
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

/// The numbers of wakes by the two vtables of `without_data`.
static WAKES: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

static WITHOUT_DATA: [RawWakerVTable; 2] = [
    RawWakerVTable::new(|_| raw(0), |_| count(0), |_| count(0), |_| {}),
    RawWakerVTable::new(|_| raw(1), |_| count(1), |_| count(1), |_| {}),
];

fn raw(index: usize) -> RawWaker {
    RawWaker::new(ptr::null(), &WITHOUT_DATA[index])
}

fn count(index: usize) {
    WAKES[index].fetch_add(1, SeqCst);
}

#[test]
fn task_with_the_same_data_and_another_vtable_is_another_task() {
    let gates = [Gate::default(), Gate::default()];
    let mut set = Attempts::new();
    for (index, gate) in gates.iter().enumerate() {
        set.push_with(index, gate.future());
    }
    for index in [0, 1] {
        // SAFETY: the functions ignore the data.
        let waker = unsafe { Waker::from_raw(raw(index)) };
        let polled = Pin::new(&mut set).poll_next(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
    }
    gates[0].open();
    let wakes = WAKES.each_ref().map(|wakes| wakes.load(SeqCst));
    assert_eq!(wakes, [0, 1]);
}
