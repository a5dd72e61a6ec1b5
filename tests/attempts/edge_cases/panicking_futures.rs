//! Futures that panic in their poll or drop.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use race::Attempts;

use crate::{
    gate::{Gate, Gated},
    payload::{caught, throw},
    task::{Parent, drain, poll},
};

/// A single future, the first group, and further groups.
const SIZES: [usize; 5] = [1, 2, 64, 65, 130];

/// A future of a gate that may panic.
struct Touchy {
    future: Gated,
    index: usize,
    panics: Panics,
}

#[derive(Clone, Copy, PartialEq)]
enum Panics {
    Never,
    /// In its poll, once its gate is open.
    InPoll,
    InDrop,
}

impl Future for Touchy {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let polled = Pin::new(&mut self.future).poll(cx);
        if polled.is_ready() && self.panics == Panics::InPoll {
            throw(self.index);
        }
        polled
    }
}

impl Drop for Touchy {
    fn drop(&mut self) {
        if self.panics == Panics::InDrop {
            throw(self.index);
        }
    }
}

/// Returns a set in which one future panics, and the gates of all.
fn set(size: usize, index: usize, panics: Panics) -> (Attempts<Touchy, usize>, Vec<Gate>) {
    let mut set = Attempts::new();
    let gates: Vec<_> = (0..size).map(|_| Gate::default()).collect();
    for (at, gate) in gates.iter().enumerate() {
        let touchy = Touchy {
            future: gate.future(),
            index: at,
            panics: if at == index { panics } else { Panics::Never },
        };
        set.push_with(at, touchy);
    }
    (set, gates)
}

fn victims(size: usize) -> [usize; 3] {
    [0, size / 2, size - 1]
}

#[test]
fn panic_in_poll_or_drop_keeps_the_others_and_drops_each_future_once() {
    let each = |size| [(size, Panics::InPoll), (size, Panics::InDrop)];
    for (size, panics) in SIZES.into_iter().flat_map(each) {
        for index in victims(size) {
            let (mut set, gates) = set(size, index, panics);
            let parent = Parent::new();
            assert!(poll(&mut set, &parent).is_pending());
            gates[index].open();
            assert_eq!(caught(|| poll(&mut set, &parent)), Err(index));
            assert_eq!((set.len(), gates[index].drops()), (size - 1, 1));

            assert_eq!(poll(&mut set, &parent).is_ready(), size == 1);
            gates.iter().for_each(Gate::open);
            let rest: Vec<_> = (0..size).filter(|at| *at != index).collect();
            assert_eq!(drain(&mut set, &parent), rest);
            assert!(gates.iter().all(|gate| gate.drops() == 1));
        }
    }
}

#[test]
fn panic_during_a_round_loses_no_poll_of_the_others() {
    for size in SIZES {
        for index in victims(size) {
            let (mut set, gates) = set(size, index, Panics::InPoll);
            let parent = Parent::new();
            gates.iter().for_each(Gate::open); // ready in the first poll
            let mut out = Vec::new();
            let mut panics = 0;
            while !set.is_empty() {
                match caught(|| poll(&mut set, &parent)) {
                    Ok(Poll::Ready(Some((at, ())))) => out.push(at),
                    Ok(other) => panic!("{other:?}"),
                    Err(_) => panics += 1,
                }
            }
            assert_eq!((panics, out.len()), (1, size - 1));
        }
    }
}

#[test]
fn dropping_the_set_drops_all_futures_though_one_panics() {
    for size in SIZES {
        for index in victims(size) {
            for is_polled in [false, true] {
                let (mut set, gates) = set(size, index, Panics::InDrop);
                let parent = Parent::new();
                if is_polled {
                    assert!(poll(&mut set, &parent).is_pending());
                }
                assert_eq!(caught(|| drop(set)), Err(index));
                assert!(gates.iter().all(|gate| gate.drops() == 1));
                drop(gates);
                assert_eq!(Arc::strong_count(&parent), 1);
            }
        }
    }
}
