//! Wakers that outlive what they were made for.

use std::sync::Arc;

use crate::probe::{Gate, Parent, drain, poll};

/// One alone, few, more than the first 61, more than another 64.
const SIZES: [usize; 6] = [1, 2, 61, 62, 125, 200];

#[test]
fn waking_after_the_set_is_gone_does_nothing() {
    for size in SIZES {
        let (mut set, gates) = Gate::set(size);
        let parent = Parent::new();
        assert!(poll(&mut set, &parent).is_pending());
        drop(set);
        if size > 1 {
            gates.iter().for_each(Gate::wake);
            assert_eq!(parent.wakes(), 0);
        }
        assert!(
            gates
                .iter()
                .all(|gate| gate.polls() == 1 && gate.drops() == 1)
        );
    }
}

#[test]
fn waking_one_that_is_gone_while_the_set_lives_polls_nobody() {
    for size in SIZES {
        let (mut set, gates) = Gate::set(size);
        let parent = Parent::new();
        assert!(poll(&mut set, &parent).is_pending());
        let gone = gates.last().unwrap();
        gone.open();
        assert_eq!(drain(&mut set, &parent), [size - 1]);
        gone.wake();
        assert_eq!(poll(&mut set, &parent).is_ready(), size == 1);
        let polls: usize = gates.iter().map(Gate::polls).sum();
        assert_eq!(polls, size + 1);
    }
}

#[test]
fn a_stale_waker_of_a_reused_slot_polls_the_new_occupant_at_most_once_more() {
    for size in SIZES.into_iter().filter(|size| *size > 1) {
        let (mut set, gates) = Gate::set(size);
        let parent = Parent::new();
        assert!(poll(&mut set, &parent).is_pending());
        let gone = gates.last().unwrap();
        gone.open();
        assert_eq!(drain(&mut set, &parent), [size - 1]);

        let new = Gate::default();
        set.push(size, new.future());
        assert!(poll(&mut set, &parent).is_pending());
        assert!(
            new.waker().will_wake(&gone.waker()),
            "the slot is used again"
        );
        for stale in 1..=3 {
            gone.wake();
            gone.wake();
            assert!(poll(&mut set, &parent).is_pending());
            assert!(poll(&mut set, &parent).is_pending());
            assert!(new.polls() <= 1 + stale);
        }
        let others = &gates[..size - 1];
        assert!(others.iter().all(|gate| gate.polls() == 1));
    }
}

#[test]
fn a_leaked_waker_does_not_keep_the_parents_alive_once_the_set_is_gone() {
    for size in SIZES.into_iter().filter(|size| *size > 1) {
        let (mut set, gates) = Gate::set(size);
        let parent = Parent::new();
        assert!(poll(&mut set, &parent).is_pending());
        drop(set); // and not the gates, which have its wakers
        assert_eq!(Arc::strong_count(&parent), 1, "of {size}");
        drop(gates);
    }
}

#[test]
fn a_poll_by_another_task_lets_go_of_the_parents_waker() {
    for size in SIZES.into_iter().filter(|size| *size > 1) {
        let (mut set, gates) = Gate::set(size);
        let (first, second) = (Parent::new(), Parent::new());
        for woken in [false, true] {
            assert!(poll(&mut set, &first).is_pending());
            if woken {
                gates.iter().for_each(Gate::wake);
            }
            assert!(poll(&mut set, &second).is_pending());
            assert_eq!(Arc::strong_count(&first), 1, "of {size}, woken: {woken}");
        }
        gates[size - 1].open();
        assert_eq!((first.wakes(), second.wakes().min(1)), (first.wakes(), 1));
        assert_eq!(drain(&mut set, &second), [size - 1]);
    }
}

#[test]
fn one_left_of_many_lets_go_of_the_parents_waker_too() {
    let (mut set, gates) = Gate::set(100);
    let (first, second) = (Parent::new(), Parent::new());
    assert!(poll(&mut set, &first).is_pending());
    gates.iter().for_each(Gate::open);
    assert_eq!(drain(&mut set, &first).len(), 100);
    set.push(100, Gate::default().future()); // alone
    assert!(poll(&mut set, &second).is_pending());
    assert_eq!(Arc::strong_count(&first), 1);
}

#[test]
fn will_wake_tells_the_wakers_of_a_slot_from_all_others() {
    let (mut set, gates) = Gate::set(150);
    assert!(poll(&mut set, &Parent::new()).is_pending());
    for (place, gate) in gates.iter().enumerate() {
        assert!(gate.waker().will_wake(&gate.waker().clone()));
        for other in gates.iter().skip(place + 1) {
            assert!(!gate.waker().will_wake(&other.waker()));
        }
    }
}
