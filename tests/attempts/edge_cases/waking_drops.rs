//! Futures that wake themselves and others in their drop.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use race::Attempts;

use crate::{
    gate::{Gate, Gated},
    task::{Parent, drain, poll},
};

/// A future that opens other gates and wakes itself when it is dropped.
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

/// Returns a set whose first future opens the gates of all others in its drop.
fn set(size: usize) -> (Attempts<OpensInDrop, usize>, Vec<Gate>) {
    let mut set = Attempts::new();
    let gates: Vec<_> = (0..size).map(|_| Gate::default()).collect();
    for (index, own) in gates.iter().enumerate() {
        let opens = match index {
            0 => gates[1..].to_vec(),
            _ => Vec::new(),
        };
        let (future, own) = (own.future(), own.clone());
        set.push_with(index, OpensInDrop { future, own, opens });
    }
    (set, gates)
}

#[test]
fn futures_woken_by_a_drop_finish_next() {
    for size in [1, 2, 64, 65, 130] {
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
fn wakes_while_the_set_is_dropped_have_no_effect() {
    for size in [2, 64, 65, 130] {
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
fn dropping_an_unpolled_set_drops_its_futures() {
    for size in [0, 1, 2, 64, 65, 130] {
        let (set, gates) = set(size);
        drop(set);
        assert!(
            gates
                .iter()
                .all(|gate| gate.polls() == 0 && gate.drops() == 1)
        );
    }
}
