//! How a race starts an attempt.

use core::{
    pin::Pin,
    task::{Context, Poll},
};

use super::{Schedule, Step, schedule::read, timeouts::Expiries};
use crate::{Hook, Policy, Timer, attempts::AttemptSet, source::Source};

impl<S: Source, T: Timer + Unpin, P: Policy, H: Hook, Q: Expiries> Schedule<S, T, P, H, Q> {
    /// Starts the candidate in hand, unless a gate or a budget refuses it. Returns what has finished.
    #[inline]
    pub(super) fn start_next<A>(
        &mut self,
        mut set: Pin<&mut A>,
        cx: &mut Context<'_>,
    ) -> Poll<Step<S::Arg, S::Output>>
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        if !self.admit(set.len()) {
            self.supply.put_back();
            return Poll::Pending;
        }
        let polled = self.start(set.as_mut(), cx);
        self.apply_signals(set.as_mut());
        let Poll::Ready(finished) = polled else {
            self.register_start(set.as_ref().get_ref());
            return Poll::Pending;
        };
        if self.discard_if_lost(finished.0.1) {
            self.timeouts.finished(finished.0.1);
            self.register_start(set.as_ref().get_ref());
            return match self.poll_attempts(set, cx).0 {
                Poll::Ready(Some(step)) => Poll::Ready(step),
                Poll::Ready(None) | Poll::Pending => Poll::Pending,
            };
        }
        Poll::Ready(self.finish_started(finished, set.as_ref().get_ref()))
    }

    /// Waits until the source has reserved what the attempt that is due needs. Returns `false` if
    /// the source takes the candidate in hand back.
    #[inline]
    pub(super) fn poll_reserve<A>(&mut self, set: Pin<&mut A>, cx: &mut Context<'_>) -> Poll<bool>
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        let polled = self.supply.poll_reserve(set, cx);
        match polled {
            Poll::Ready(true) => {}
            Poll::Ready(false) => {
                self.supply.take_back(self.stagger.starts() > 0);
                self.stagger.put_off();
            }
            Poll::Pending => self.hold(),
        }
        polled
    }

    /// Starts the candidate in hand and polls it.
    #[inline]
    #[expect(clippy::type_complexity, reason = "what a set of attempts returns")]
    fn start<A>(
        &mut self,
        set: Pin<&mut A>,
        cx: &mut Context<'_>,
    ) -> Poll<((S::Arg, usize), S::Output)>
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        let candidate = self.supply.take();
        self.begin_handle(self.stagger.starts());
        let (timeouts, timer, began) = (&self.timeouts, &self.timer, &mut self.began);
        let time_left = || timeouts.time_left(|| read(timer, began));
        self.supply.source.begin_attempt(time_left);
        #[cfg_attr(not(feature = "tracing"), expect(unused_mut, reason = "for its span"))]
        let (arg, mut attempt) = self.supply.source.attempt(candidate);
        let cause = self.stagger.cause(set.len());
        let index = self.stagger.started();
        self.refused = None;
        self.note_max_attempts();
        self.hooks.started(index, cause);
        #[cfg(feature = "tracing")]
        S::instrument(&mut attempt, || self.hooks.span(index));
        set.push_and_poll((arg, index), attempt, cx)
    }

    /// An attempt finished in the poll of its start, or another one finished meanwhile.
    #[inline]
    fn finish_started<A>(
        &mut self,
        finished: ((S::Arg, usize), S::Output),
        set: &A,
    ) -> Step<S::Arg, S::Output>
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        if self.timeouts.are_set() {
            self.timeouts.finished(finished.0.1);
            self.register_start(set);
        }
        Step::finished(finished)
    }

    /// Counts the timeout of the latest attempt from here, if that is still to be done. A panic in
    /// the poll of its start leaves it to the next poll.
    #[inline]
    pub(super) fn register_start<A>(&mut self, set: &A)
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        if self.timeouts.is_behind(self.stagger.starts()) {
            self.register_latest(set);
        }
    }

    #[inline(never)]
    fn register_latest<A>(&mut self, set: &A)
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        let now = read(&self.timer, &mut self.began);
        self.stagger.clock(|| now);
        let mut is_running = |index| {
            let mut is_running = false;
            set.for_each(|&(_, running)| is_running |= running == index);
            is_running
        };
        let latest = self.stagger.starts() - 1;
        self.timeouts.register(latest, now, &mut is_running);
    }
}
