use alloc::{boxed::Box, sync::Arc, task::Wake, vec::Vec};
use core::task::Waker;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::*;
use crate::attempts::wake::UnfinishedWake;

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

/// Occupied slots in both tiers, armed with a waker.
fn armed() -> ReadySet {
    let mut set = ReadySet::new();
    let waker = Waker::from(Arc::new(Quiet));
    for _ in 0..2 * BITS {
        set.occupy(Some(&waker));
    }
    set.begin_round(&waker);
    assert_eq!(set.next(), None);
    set
}

fn round(set: &mut ReadySet) -> Vec<usize> {
    set.begin_round(&Waker::from(Arc::new(Quiet)));
    core::iter::from_fn(|| set.next()).collect()
}

/// A begin of a round, with a waker that panics when it is woken, while another thread is between
/// setting a bit and taking the old waker.
fn begin_round_panics(set: &mut ReadySet) {
    let waker = Waker::from(Arc::new(PanicsWhenWoken));
    let begun = catch_unwind(AssertUnwindSafe(|| set.begin_round(&waker)));
    assert!(begun.is_err(), "the poller must wake its own task");
}

#[test]
fn waker_that_panics_during_another_threads_wake_loses_no_wake_of_the_first_group() {
    let mut set = armed();
    let wake = UnfinishedWake::of_root(&set.root, 7);
    begin_round_panics(&mut set);
    set.waker(9).wake_by_ref();
    wake.finish();
    assert_eq!(round(&mut set), [7, 9]);
}

#[test]
fn waker_that_panics_during_another_threads_wake_loses_no_wake_of_stacked_groups() {
    for slots in [&[SLOTS][..], &[SLOTS + 5, SLOTS + BITS, SLOTS + BITS + 1]] {
        let mut set = armed();
        let groups = set.groups.as_ref().expect("the second tier is in use");
        let wake = groups.begin_wake(slots[0] - SLOTS);
        for slot in &slots[1..] {
            set.waker(*slot).wake_by_ref();
        }
        begin_round_panics(&mut set);
        wake.finish();
        assert_eq!(round(&mut set), slots);
        // The groups can be pushed on the stack again.
        for slot in slots {
            set.waker(*slot).wake_by_ref();
        }
        assert_eq!(round(&mut set), slots);
    }
}
