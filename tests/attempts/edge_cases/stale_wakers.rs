//! Wakers that outlive their future or their set.

use std::sync::Arc;

use crate::{
    gate::Gate,
    task::{Parent, drain, poll},
};

/// A single future, the first group, one more group, several.
const SIZES: [usize; 7] = [1, 2, 64, 65, 128, 129, 200];

#[test]
fn wake_after_the_drop_of_the_set_has_no_effect() {
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
fn wake_of_a_finished_future_polls_no_other() {
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
fn stale_waker_of_a_reused_slot_causes_at_most_one_poll_per_round() {
    for size in SIZES.into_iter().filter(|size| *size > 1) {
        let (mut set, gates) = Gate::set(size);
        let parent = Parent::new();
        assert!(poll(&mut set, &parent).is_pending());
        let gone = gates.last().unwrap();
        gone.open();
        assert_eq!(drain(&mut set, &parent), [size - 1]);

        let new = Gate::default();
        set.push_with(size, new.future());
        assert!(poll(&mut set, &parent).is_pending());
        assert!(new.waker().will_wake(&gone.waker()), "the slot is reused");
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
fn waker_that_outlives_the_set_does_not_keep_the_parents_waker() {
    for size in SIZES.into_iter().filter(|size| *size > 1) {
        let (mut set, gates) = Gate::set(size);
        let parent = Parent::new();
        assert!(poll(&mut set, &parent).is_pending());
        drop(set); // the gates still hold wakers of the set
        assert_eq!(Arc::strong_count(&parent), 1, "of {size}");
        drop(gates);
    }
}

#[test]
fn poll_by_another_task_drops_the_old_tasks_waker() {
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
fn poll_of_a_single_remaining_future_drops_the_old_tasks_waker() {
    let (mut set, gates) = Gate::set(100);
    let (first, second) = (Parent::new(), Parent::new());
    assert!(poll(&mut set, &first).is_pending());
    gates.iter().for_each(Gate::open);
    assert_eq!(drain(&mut set, &first).len(), 100);
    set.push_with(100, Gate::default().future()); // alone
    assert!(poll(&mut set, &second).is_pending());
    assert_eq!(Arc::strong_count(&first), 1);
}

#[test]
fn will_wake_is_true_only_for_wakers_of_the_same_slot() {
    let (mut set, gates) = Gate::set(150);
    assert!(poll(&mut set, &Parent::new()).is_pending());
    for (index, gate) in gates.iter().enumerate() {
        assert!(gate.waker().will_wake(&gate.waker().clone()));
        for other in gates.iter().skip(index + 1) {
            assert!(!gate.waker().will_wake(&other.waker()));
        }
    }
}
