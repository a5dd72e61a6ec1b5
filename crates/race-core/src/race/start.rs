//! How a race starts an attempt.

use core::{
    pin::Pin,
    task::{Context, Poll},
};

use super::{Schedule, Step, schedule::read, timeouts::Expiries};
use crate::{Hook, Policy, Timer, attempts::AttemptSet, source::Source};

impl<S: Source, T: Timer + Unpin, P: Policy, H: Hook, Q: Expiries> Schedule<S, T, P, H, Q> {
    /// Starts the candidate in hand, unless the source takes it back or it is refused. Returns what
    /// has finished.
    #[inline]
    pub(super) fn start_next<A>(
        &mut self,
        mut set: Pin<&mut A>,
        cx: &mut Context<'_>,
    ) -> Poll<Step<S::Arg, S::Output>>
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        if !self.reconsider() {
            return Poll::Ready(Step::TakenBack);
        }
        if !self.admit(set.len()) {
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

    /// Asks the source whether the candidate in hand is to start.
    #[inline]
    fn reconsider(&mut self) -> bool {
        let candidate = self.candidate.as_mut().expect("a candidate is in hand");
        if self.source.reconsider(candidate) {
            return true;
        }
        self.candidate = None;
        self.had_candidate = self.stagger.starts() > 0;
        self.stagger.put_off();
        false
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
        let candidate = self.candidate.take().expect("a candidate is in hand");
        self.begin_handle(self.stagger.starts());
        #[cfg_attr(not(feature = "tracing"), expect(unused_mut, reason = "for its span"))]
        let (arg, mut attempt) = self.source.attempt(candidate);
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
