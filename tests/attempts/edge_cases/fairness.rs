//! No woken future waits longer than a round.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures::{FutureExt, future::BoxFuture};
use race::Attempts;

use crate::{
    gate::{Gate, Gated},
    payload::{caught, throw},
    task::{Parent, drain, poll},
};

/// A future of a gate that wakes itself in each poll if it is restless.
struct Restless {
    future: Gated,
    is_restless: bool,
}

impl Future for Restless {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_restless {
            cx.waker().wake_by_ref();
        }
        Pin::new(&mut self.future).poll(cx)
    }
}

#[test]
fn woken_future_is_polled_within_a_round_while_others_wake_themselves_and_are_pushed() {
    for size in [2, 64, 65, 200] {
        for index in [0, size / 2, size - 1] {
            check(size, index);
        }
    }
}

/// All futures but one wake themselves in each poll. Before each poll of the set one future that is
/// ready, or four that never are, are pushed.
fn check(size: usize, index: usize) {
    let gates: Vec<_> = (0..size).map(|_| Gate::default()).collect();
    let mut set = Attempts::new();
    let restless = |gate: &Gate, is_restless| Restless {
        future: gate.future(),
        is_restless,
    };
    for (at, gate) in gates.iter().enumerate() {
        set.push_with(at, restless(gate, at != index));
    }
    let parent = Parent::new();
    let (ready, never) = (Gate::default(), Gate::default());
    ready.open();
    let push = |set: &mut Attempts<Restless, usize>, step: usize| match step % 3 {
        0 => (0..4).for_each(|_| set.push_with(usize::MAX, restless(&never, true))),
        _ => set.push_with(usize::MAX, restless(&ready, false)),
    };
    for step in 0..20 {
        push(&mut set, step);
        let _ = poll(&mut set, &parent);
    }
    let before: Vec<_> = gates.iter().map(Gate::polls).collect();
    gates[index].open();
    let mut steps = 0..1_000;
    let found = steps.find(|step| {
        push(&mut set, *step);
        matches!(poll(&mut set, &parent), Poll::Ready(Some((at, ()))) if at == index)
    });
    assert!(found.is_some(), "{index} of {size} was never polled");
    for (at, gate) in gates.iter().enumerate() {
        // At most once in the rest of a round, and once in the round that polls the woken future.
        assert!(
            gate.polls() - before[at] <= 2,
            "{at} before {index} of {size}"
        );
    }
}

#[test]
fn poll_returns_while_all_futures_wake_themselves() {
    for size in [1, 2, 64, 65, 200] {
        let gates: Vec<_> = (0..size).map(|_| Gate::default()).collect();
        let mut set = Attempts::new();
        for gate in &gates {
            let (future, is_restless) = (gate.future(), true);
            set.push(Restless {
                future,
                is_restless,
            });
        }
        let parent = Parent::new();
        for polls in 1..10 {
            let wakes = parent.wakes();
            assert!(poll(&mut set, &parent).is_pending());
            assert!(parent.wakes() > wakes);
            assert!(gates.iter().all(|gate| gate.polls() == polls));
        }
    }
}

#[test]
fn woken_future_is_polled_while_others_that_panic_are_pushed() {
    for size in [2, 64, 65, 130] {
        let gates: Vec<_> = (0..size).map(|_| Gate::default()).collect();
        let mut set: Attempts<BoxFuture<'_, ()>> = Attempts::new();
        for gate in &gates {
            set.push(gate.future().boxed());
        }
        let parent = Parent::new();
        assert!(poll(&mut set, &parent).is_pending());
        gates[0].open();
        assert!(poll(&mut set, &parent).is_ready()); // frees slot 0
        gates[size - 1].open();
        let found = (0..1_000).any(|_| {
            set.push(async { throw(0) }.boxed());
            caught(|| poll(&mut set, &parent)).is_ok_and(|poll| poll.is_ready())
        });
        assert!(found, "the last of {size} was never polled");
    }
}

#[test]
fn push_order_is_restored_once_a_future_finishes() {
    let (mut set, gates) = Gate::set(6);
    let parent = Parent::new();
    assert!(poll(&mut set, &parent).is_pending());
    for _ in 0..100 {
        gates[0].wake();
        gates[1].wake();
        assert!(poll(&mut set, &parent).is_pending());
    }
    gates[2].open();
    assert_eq!(drain(&mut set, &parent), [2]);
    gates[4].open();
    gates[0].open();
    assert_eq!(drain(&mut set, &parent), [0, 4]);
}
