//! The signals of attempts to their race: commits, progress and holds, in atomics.
//!
//! An attempt that commits goes through [`CLAIMING`], takes one of the free slots that all attempts
//! of the race share, and is then [`COMMITTED`] or [`LOST`]. The step in between makes sure that an
//! attempt never takes two slots: the race claims the slot of an attempt whose output is accepted,
//! while a task of that attempt may commit on another thread.

use core::time::Duration;

use atomic_waker::AtomicWaker;

use crate::sync::{Arc, AtomicUsize, Ordering, spin_hint};

const RUNNING: usize = 0;
const CLAIMING: usize = 1;
const COMMITTED: usize = 2;
const LOST: usize = 3;

/// What all attempts of a race share.
pub(super) struct Shared {
    /// How many attempts may still commit.
    free: AtomicUsize,
    /// Not zero: there is a signal that the race has not applied.
    changed: AtomicUsize,
    /// Not zero: an attempt made progress, and the race has not applied that.
    progressed: AtomicUsize,
    /// Wakes the race. Empty while the race is being polled.
    waker: AtomicWaker,
}

impl Shared {
    pub(super) fn new() -> Self {
        Self {
            free: AtomicUsize::new(1),
            changed: AtomicUsize::new(0),
            progressed: AtomicUsize::new(0),
            waker: AtomicWaker::new(),
        }
    }

    /// Lets `more` further attempts commit.
    pub(super) fn add_free(&self, more: usize) {
        self.free.fetch_add(more, Ordering::AcqRel);
    }

    /// Returns whether no further attempt can commit.
    #[inline]
    pub(super) fn is_decided(&self) -> bool {
        self.free.load(Ordering::Acquire) == 0
    }

    fn take_slot(&self) -> bool {
        let fewer = |free: usize| free.checked_sub(1);
        let order = (Ordering::AcqRel, Ordering::Acquire);
        self.free.fetch_update(order.0, order.1, fewer).is_ok()
    }

    #[inline]
    pub(super) fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Acquire) != 0
    }

    /// Returns whether something has changed since the last call.
    #[inline]
    pub(super) fn take_changed(&self) -> bool {
        self.has_changed() && self.changed.swap(0, Ordering::AcqRel) != 0
    }

    /// Returns whether an attempt made progress since the last call.
    pub(super) fn take_progressed(&self) -> bool {
        self.progressed.swap(0, Ordering::AcqRel) != 0
    }

    pub(super) fn waker(&self) -> &AtomicWaker {
        &self.waker
    }

    fn change(&self) {
        self.changed.store(1, Ordering::Release);
        self.waker.wake();
    }
}

/// The signals of one attempt.
pub(super) struct Signals {
    pub(super) index: usize,
    /// The time that it had left when it started.
    pub(super) time_left: Option<Duration>,
    state: AtomicUsize,
    /// The number of its `Hold`s.
    holds: AtomicUsize,
    shared: Arc<Shared>,
}

impl Signals {
    pub(super) fn new(index: usize, time_left: Option<Duration>, shared: Arc<Shared>) -> Self {
        Self {
            index,
            time_left,
            state: AtomicUsize::new(RUNNING),
            holds: AtomicUsize::new(0),
            shared,
        }
    }

    pub(super) fn progress(&self) {
        if self.has_lost() {
            return; // it has ended, or is about to
        }
        self.shared.progressed.store(1, Ordering::Release);
        self.shared.change();
    }

    pub(super) fn hold(&self) {
        self.holds.fetch_add(1, Ordering::AcqRel);
        self.shared.change();
    }

    pub(super) fn release(&self) {
        self.holds.fetch_sub(1, Ordering::AcqRel);
        self.shared.change();
    }

    pub(super) fn is_held(&self) -> bool {
        self.holds.load(Ordering::Acquire) > 0
    }

    /// Commits for the attempt.
    pub(super) fn commit(&self) -> bool {
        let (committed, is_new) = self.claim_slot();
        if is_new {
            self.shared.change();
        }
        committed
    }

    /// Takes a slot for an attempt that has finished. Returns whether it has one.
    pub(super) fn claim(&self) -> bool {
        self.claim_slot().0
    }

    /// Takes a slot once. Returns whether the attempt has one, and whether this call decided it.
    fn claim_slot(&self) -> (bool, bool) {
        if let Err(state) = self.leave_running(CLAIMING) {
            return (state == COMMITTED, false);
        }
        let committed = self.shared.take_slot();
        let state = if committed { COMMITTED } else { LOST };
        self.state.store(state, Ordering::Release);
        (committed, true)
    }

    /// Lets an attempt that has ended take no slot any more. Returns whether it has one.
    pub(super) fn close(&self) -> bool {
        self.leave_running(LOST) == Err(COMMITTED)
    }

    /// Replaces the state [`RUNNING`], or returns the final state.
    fn leave_running(&self, next: usize) -> Result<(), usize> {
        loop {
            let order = (Ordering::AcqRel, Ordering::Acquire);
            let left = self.state.compare_exchange(RUNNING, next, order.0, order.1);
            match left {
                Ok(_) => return Ok(()),
                Err(CLAIMING) => spin_hint(), // another thread is about to store the final state
                Err(state) => return Err(state),
            }
        }
    }

    pub(super) fn has_committed(&self) -> bool {
        self.state.load(Ordering::Acquire) == COMMITTED
    }

    /// Whether it tried to commit and another attempt had, or has ended.
    pub(super) fn has_lost(&self) -> bool {
        self.state.load(Ordering::Acquire) == LOST
    }

    /// Whether it neither committed nor is about to.
    pub(super) fn may_lose(&self) -> bool {
        matches!(self.state.load(Ordering::Acquire), RUNNING | LOST)
    }
}
