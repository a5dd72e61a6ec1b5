//! What a race does when its attempts commit, make progress or hold the next start. Without an
//! allocator they cannot: `no_handles` has the same methods.

use core::{
    pin::Pin,
    task::{Context, Poll},
};

use super::{Schedule, schedule::Losers, timeouts::Expiries};
use crate::{Hook, Policy, Timer, attempts::AttemptSet, source::Source};

impl<S: Source, T: Timer, P: Policy, H: Hook, Q: Expiries> Schedule<S, T, P, H, Q> {
    /// Does what the attempts have said since the last call. Returns whether that was anything.
    #[inline]
    pub(super) fn heed<A>(&mut self, set: Pin<&mut A>) -> bool
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        let has_changed = self.source.handles().is_some_and(|it| it.take_changed());
        if has_changed {
            self.heed_changes(set);
        }
        has_changed
    }

    #[cold]
    #[inline(never)]
    fn heed_changes<A>(&mut self, set: Pin<&mut A>)
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        let Some(handles) = self.source.handles() else {
            return;
        };
        handles.interrupt(true); // until all is done: an observer or a drop may panic
        if handles.take_progressed() {
            let (timer, began) = (&self.timer, &mut self.began);
            self.stagger
                .progressed(|| super::schedule::read(timer, began));
        }
        self.stagger.set_suspended(handles.is_held());
        let is_decided = handles.is_decided();
        while let Some(index) = handles.take_committed() {
            self.hooks.committed(index);
        }
        if is_decided {
            self.remove_losers(set);
        }
        if let Some(handles) = self.source.handles() {
            handles.interrupt(false);
        }
    }

    /// Starts no more attempts, and cancels those that have lost.
    fn remove_losers<A>(&mut self, mut set: Pin<&mut A>)
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        self.stop();
        self.timeouts.clear_deadline();
        let run_on = self.losers != Losers::Cancel;
        while let Some(handles) = self.source.handles() {
            let has_lost = |&(_, index): &(S::Arg, usize)| handles.has_lost(index, run_on);
            let Some((_, index)) = set.as_mut().remove(has_lost) else {
                return;
            };
            self.timeouts.finished(index);
            self.note_ended(index, crate::EventKind::Cancelled);
        }
    }

    /// Returns whether an attempt that finished has lost: as many as needed have committed. Then it
    /// is noted, and its output must not be seen.
    #[inline]
    pub(super) fn has_lost(&mut self, index: usize) -> bool {
        match self.source.handles() {
            Some(handles) if handles.is_decided() => {
                self.losers != Losers::Deliver && !self.claim(index)
            }
            _ => false,
        }
    }

    /// Claims the place of a winner for an attempt whose output is accepted. If others have them
    /// all, it returns `false` and notes the end of the attempt.
    #[inline]
    pub(crate) fn claim(&mut self, index: usize) -> bool {
        let handles = self.source.handles();
        let claimed = handles.is_none_or(|handles| handles.claim(index));
        if !claimed {
            self.note_ended(index, crate::EventKind::Cancelled);
        }
        claimed
    }

    /// Forgets the handle of an attempt that has ended. Returns whether it had committed.
    #[inline]
    pub(crate) fn end_handle(&mut self, index: usize) -> bool {
        self.source.handles().is_some_and(|it| it.end(index))
    }

    /// Makes the handle of the attempt that is about to start.
    #[inline]
    pub(super) fn begin_handle<A>(&mut self, index: usize, set: &A)
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        let Some(handles) = self.source.handles() else {
            return;
        };
        self.has_handles = true;
        if handles.is_crowded(set.len()) {
            handles.retain(|index| {
                let mut is_running = false;
                set.for_each(|&(_, running)| is_running |= running == index);
                is_running
            });
        }
        handles.begin(index);
    }

    /// Lets the handles wake nothing while the race is polled: it looks at them itself.
    #[inline]
    pub(super) fn begin_heeding(&mut self) {
        if let Some(handles) = self.source.handles() {
            handles.begin_poll();
        }
    }

    /// Lets the handles wake the race after a poll that is pending.
    #[inline]
    pub(super) fn end_heeding<O>(&mut self, polled: &Poll<O>, cx: &mut Context<'_>) {
        if let (Poll::Pending, Some(handles)) = (polled, self.source.handles()) {
            if handles.register(cx.waker()) {
                cx.waker().wake_by_ref();
            }
        }
    }

    /// Lets attempts that have lost run on, except those that try to commit.
    pub(crate) fn keep_losers(&mut self) {
        self.losers = Losers::RunOn;
    }
}
