//! The signals of the attempts: what a race does when one commits, makes progress or holds the next
//! start. Without an allocator there are none: `no_signals` has the same methods.

use core::{
    pin::Pin,
    task::{Context, Poll},
};

use super::{Schedule, timeouts::Expiries};
use crate::{Hook, Policy, Timer, attempts::AttemptSet, handle::Losers, source::Source};

impl<S: Source, T: Timer, P: Policy, H: Hook, Q: Expiries> Schedule<S, T, P, H, Q> {
    /// Applies the signals of the attempts since the last call. Returns whether there were any.
    #[inline]
    pub(super) fn apply_signals<A>(&mut self, set: Pin<&mut A>) -> bool
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        let has_changed = self
            .supply
            .source
            .handles()
            .is_some_and(|it| it.take_changed());
        if has_changed {
            self.apply_changes(set);
        }
        has_changed
    }

    #[cold]
    #[inline(never)]
    fn apply_changes<A>(&mut self, set: Pin<&mut A>)
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        let Some(handles) = self.supply.source.handles() else {
            return;
        };
        handles.set_must_recheck(true); // until all is done: an observer or a drop may panic
        if handles.take_progressed() {
            let (timer, began) = (&self.timer, &mut self.began);
            self.stagger
                .progressed(|| super::schedule::read(timer, began));
        }
        self.stagger.set_suspended(handles.is_held());
        let is_decided = handles.is_decided();
        self.end_reserving_unless_due();
        let Some(handles) = self.supply.source.handles() else {
            return;
        };
        while let Some(index) = handles.take_committed() {
            self.hooks.committed(index);
        }
        if is_decided {
            self.remove_losers(set);
        }
        if let Some(handles) = self.supply.source.handles() {
            handles.set_must_recheck(false);
        }
    }

    /// Gives up the wait for a place if progress or a hold has moved the start.
    fn end_reserving_unless_due(&mut self) {
        if self.supply.is_reserving() {
            let now = super::schedule::read(&self.timer, &mut self.began);
            if self.stagger.due() > now {
                self.supply.end_reserving();
            }
        }
    }

    /// Starts no more attempts, and cancels those that have lost.
    fn remove_losers<A>(&mut self, mut set: Pin<&mut A>)
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        self.stop();
        self.timeouts.clear_deadline();
        while let Some(handles) = self.supply.source.handles() {
            let must_end = |&(_, index): &(S::Arg, usize)| handles.must_end(index);
            let Some((_, index)) = set.as_mut().remove(must_end) else {
                return;
            };
            self.timeouts.finished(index);
            self.note_ended(index, crate::observe::EventKind::Cancelled);
        }
    }

    /// Returns whether an attempt that finished has lost, because as many as needed have committed.
    /// If so, it reports the attempt as cancelled, and the caller drops the output.
    #[inline]
    pub(super) fn discard_if_lost(&mut self, index: usize) -> bool {
        match self.supply.source.handles() {
            Some(handles) if handles.drops_losers() => !self.claim(index),
            _ => false,
        }
    }

    /// Claims the place of a winner for an attempt whose output is accepted. If others have them
    /// all, it returns `false` and notes the end of the attempt.
    #[inline]
    pub(crate) fn claim(&mut self, index: usize) -> bool {
        let handles = self.supply.source.handles();
        let claimed = handles.is_none_or(|handles| handles.claim(index));
        if !claimed {
            self.note_ended(index, crate::observe::EventKind::Cancelled);
        }
        claimed
    }

    /// Forgets the handle of an attempt that has ended. Returns whether it had committed.
    #[inline]
    pub(crate) fn end_handle(&mut self, index: usize) -> bool {
        self.supply.source.handles().is_some_and(|it| it.end(index))
    }

    /// Whether the attempts have handles. The compiler knows it for most sources.
    #[inline(always)]
    pub(super) fn gives_handles(&mut self) -> bool {
        self.supply.source.handles().is_some()
    }

    /// Makes the handle of the attempt that is about to start.
    #[inline]
    pub(super) fn begin_handle(&mut self, index: usize) {
        let Some(handles) = self.supply.source.handles() else {
            return;
        };
        self.has_handles = true;
        let (timer, began) = (&self.timer, &mut self.began);
        let time_left = self
            .timeouts
            .time_left(|| super::schedule::read(timer, began));
        handles.begin(index, time_left);
    }

    /// Forgets the handles of attempts that panicked, also before they started.
    pub(super) fn retain_handles(&mut self, is_running: impl FnMut(usize) -> bool) {
        if let Some(handles) = self.supply.source.handles() {
            handles.forget_from(self.stagger.starts());
            handles.retain(is_running);
        }
    }

    /// Lets the handles wake nothing while the race is polled: it looks at them itself.
    #[inline]
    pub(super) fn begin_signals(&mut self) {
        if let Some(handles) = self.supply.source.handles() {
            handles.begin_poll();
        }
    }

    /// Lets the handles wake the race after a poll that is pending.
    #[inline]
    pub(super) fn end_signals<O>(&mut self, polled: &Poll<O>, cx: &mut Context<'_>) {
        if let (Poll::Pending, Some(handles)) = (polled, self.supply.source.handles()) {
            if handles.register(cx.waker()) {
                cx.waker().wake_by_ref();
            }
        }
    }

    /// Lets attempts run on after another one has committed.
    pub(crate) fn let_losers_run_on(&mut self) {
        if let Some(handles) = self.supply.source.handles() {
            handles.set_losers(Losers::RunOn);
        }
    }

    /// Delivers the outputs of attempts that have lost because others committed. If none has won,
    /// commits have no effect from here on.
    pub(super) fn deliver_losers(&mut self) {
        if let Some(handles) = self.supply.source.handles() {
            handles.set_losers(Losers::Deliver);
            handles.let_all_commit();
        }
    }

    /// Sets how many attempts may commit.
    #[inline]
    pub(super) fn set_needed_commits(&mut self, needed: usize) {
        if let Some(handles) = self.supply.source.handles() {
            handles.set_needed(needed);
        }
    }
}
