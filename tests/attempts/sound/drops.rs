//! Futures that wake in their drop.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use race::Attempts;

use crate::probe::{Gate, Gated, Parent, drain, poll};

/// Opens other gates when it is dropped, and wakes itself.
struct OpensInDrop {
    future: Gated,
    own: Gate,
    opens: Vec<Gate>,
}

impl Future for OpensInDrop {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.future).poll(cx)
    }
}

impl Drop for OpensInDrop {
    fn drop(&mut self) {
        self.own.wake();
        self.opens.iter().for_each(Gate::open);
        self.own.wake();
    }
}

/// A set in which the first opens all others in its drop.
fn set(size: usize) -> (Attempts<OpensInDrop, usize>, Vec<Gate>) {
    let mut set = Attempts::new();
    let gates: Vec<_> = (0..size).map(|_| Gate::default()).collect();
    for (place, own) in gates.iter().enumerate() {
        let opens = match place {
            0 => gates[1..].to_vec(),
            _ => Vec::new(),
        };
        let (future, own) = (own.future(), own.clone());
        set.push(place, OpensInDrop { future, own, opens });
    }
    (set, gates)
}

#[test]
fn one_that_wakes_itself_and_others_in_its_drop_makes_them_come_next() {
    for size in [1, 2, 61, 62, 130] {
        let (mut set, gates) = set(size);
        let parent = Parent::new();
        assert!(poll(&mut set, &parent).is_pending());
        gates[0].open();
        assert_eq!(drain(&mut set, &parent), (0..size).collect::<Vec<_>>());
        assert!(
            gates
                .iter()
                .all(|gate| gate.polls() == 2 && gate.drops() == 1)
        );
    }
}

#[test]
fn one_that_wakes_itself_and_others_while_the_set_is_dropped_wakes_nobody() {
    for size in [2, 61, 62, 130] {
        let (mut set, gates) = set(size);
        let parent = Parent::new();
        assert!(poll(&mut set, &parent).is_pending());
        drop(set);
        assert_eq!(parent.wakes(), 0);
        assert!(
            gates
                .iter()
                .all(|gate| gate.polls() == 1 && gate.drops() == 1)
        );
    }
}

#[test]
fn a_set_that_was_never_polled_drops_what_was_pushed() {
    for size in [0, 1, 2, 61, 62, 130] {
        let (set, gates) = set(size);
        drop(set);
        assert!(
            gates
                .iter()
                .all(|gate| gate.polls() == 0 && gate.drops() == 1)
        );
    }
}
