use alloc::{boxed::Box, sync::Arc, task::Wake, vec::Vec};
use core::task::Waker;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::*;
use crate::attempts::wake::UnfinishedWake;

impl ReadySet {
    fn begin_wake(&mut self, slot: usize) -> UnfinishedWake {
        let group = self.group(slot / BITS).handle.clone();
        UnfinishedWake::begin(self.root(), &group, (slot % BITS) as u8)
    }
}

struct Quiet;

impl Wake for Quiet {
    fn wake(self: Arc<Self>) {}
}

struct PanicsWhenWoken;

impl Wake for PanicsWhenWoken {
    fn wake(self: Arc<Self>) {
        resume_unwind(Box::new(()));
    }
}

/// Occupied slots in two groups, armed with a waker.
fn armed() -> Box<ReadySet> {
    let mut set = ReadySet::boxed();
    let waker = Waker::from(Arc::new(Quiet));
    for _ in 0..2 * BITS {
        set.occupy();
    }
    assert!(set.slots_of_round(&waker).is_empty());
    set
}

fn round(set: &mut ReadySet) -> Vec<usize> {
    set.slots_of_round(&Waker::from(Arc::new(Quiet)))
}

/// Begins a round with a waker that panics when it is woken, after another thread changed `top`
/// from zero and before it takes the parent's waker.
fn begin_round_panics(set: &mut ReadySet) {
    let waker = Waker::from(Arc::new(PanicsWhenWoken));
    let begun = catch_unwind(AssertUnwindSafe(|| set.slots_of_round(&waker)));
    assert!(begun.is_err(), "the poller must wake its own task");
}

#[test]
fn waker_that_panics_during_another_threads_wake_loses_no_wake() {
    for slots in [&[7][..], &[7, 9], &[BITS + 5], &[9, BITS + 5, BITS + 8]] {
        let mut set = armed();
        let slot = slots[0];
        let wake = set.begin_wake(slot);
        for slot in &slots[1..] {
            set.own_waker(*slot).wake();
        }
        begin_round_panics(&mut set);
        wake.finish();
        assert_eq!(round(&mut set), slots);
        // The groups can be pushed on the stack again.
        for slot in slots {
            set.own_waker(*slot).wake();
        }
        assert_eq!(round(&mut set), slots);
    }
}

#[test]
fn wake_of_a_side_is_remembered_until_it_is_asked_for() {
    let mut set = armed();
    set.side_waker(Side::Timer).0.wake_by_ref();
    for _ in 0..3 {
        // Rounds of several slots, without a question for the side.
        for slot in [1, 2] {
            set.own_waker(slot).wake();
        }
        assert_eq!(round(&mut set), [1, 2]);
    }
    assert!(set.side_waker(Side::Timer).1);
    assert!(!set.side_waker(Side::Timer).1);
    assert!(!set.side_waker(Side::Source).1);
}
