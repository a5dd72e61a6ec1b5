//! Futures that panic.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use race::Attempts;

use crate::probe::{Gate, Gated, Parent, caught, drain, poll, throw};

/// One alone, few, and more than the first 61.
const SIZES: [usize; 5] = [1, 2, 61, 62, 130];

/// A gate's future that may panic.
struct Touchy {
    future: Gated,
    place: usize,
    panics: Panics,
}

#[derive(Clone, Copy, PartialEq)]
enum Panics {
    Never,
    /// When its gate is open.
    InPoll,
    InDrop,
}

impl Future for Touchy {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let polled = Pin::new(&mut self.future).poll(cx);
        if polled.is_ready() && self.panics == Panics::InPoll {
            throw(self.place);
        }
        polled
    }
}

impl Drop for Touchy {
    fn drop(&mut self) {
        if self.panics == Panics::InDrop {
            throw(self.place);
        }
    }
}

/// A set in which the one in this place panics, and the gates of all.
fn set(size: usize, place: usize, panics: Panics) -> (Attempts<Touchy, usize>, Vec<Gate>) {
    let mut set = Attempts::new();
    let gates: Vec<_> = (0..size).map(|_| Gate::default()).collect();
    for (at, gate) in gates.iter().enumerate() {
        let touchy = Touchy {
            future: gate.future(),
            place: at,
            panics: if at == place { panics } else { Panics::Never },
        };
        set.push(at, touchy);
    }
    (set, gates)
}

fn places(size: usize) -> [usize; 3] {
    [0, size / 2, size - 1]
}

#[test]
fn one_that_panics_in_poll_or_drop_leaves_the_others_deliverable_and_all_dropped_once() {
    let each = |size| [(size, Panics::InPoll), (size, Panics::InDrop)];
    for (size, panics) in SIZES.into_iter().flat_map(each) {
        for place in places(size) {
            let (mut set, gates) = set(size, place, panics);
            let parent = Parent::new();
            assert!(poll(&mut set, &parent).is_pending());
            gates[place].open();
            assert_eq!(caught(|| poll(&mut set, &parent)), Err(place));
            assert_eq!((set.len(), gates[place].drops()), (size - 1, 1));

            assert_eq!(poll(&mut set, &parent).is_ready(), size == 1);
            gates.iter().for_each(Gate::open);
            let rest: Vec<_> = (0..size).filter(|at| *at != place).collect();
            assert_eq!(drain(&mut set, &parent), rest);
            assert!(gates.iter().all(|gate| gate.drops() == 1));
        }
    }
}

#[test]
fn one_that_panics_amid_a_round_does_not_cost_the_others_their_turn() {
    for size in SIZES {
        for place in places(size) {
            let (mut set, gates) = set(size, place, Panics::InPoll);
            let parent = Parent::new();
            gates.iter().for_each(Gate::open); // ready in their first poll
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
fn dropping_the_set_with_one_that_panics_in_drop_drops_all_others() {
    for size in SIZES {
        for place in places(size) {
            for is_polled in [false, true] {
                let (mut set, gates) = set(size, place, Panics::InDrop);
                let parent = Parent::new();
                if is_polled {
                    assert!(poll(&mut set, &parent).is_pending());
                }
                assert_eq!(caught(|| drop(set)), Err(place));
                assert!(gates.iter().all(|gate| gate.drops() == 1));
                drop(gates);
                assert_eq!(Arc::strong_count(&parent), 1);
            }
        }
    }
}
