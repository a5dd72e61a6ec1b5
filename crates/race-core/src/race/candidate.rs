//! Drawing candidates from the source, at most one ahead.

use core::{
    mem,
    pin::Pin,
    task::{Context, Poll},
};

use super::{Schedule, schedule::Pace, timeouts::Expiries};
use crate::{
    Hook, Policy, Timer,
    attempts::{AttemptSet, Side},
    source::Source,
};

impl<S: Source, T: Timer + Unpin, P: Policy, H: Hook, Q: Expiries> Schedule<S, T, P, H, Q> {
    /// Takes care that a candidate is in hand. Returns `false` if there is none.
    #[inline]
    pub(super) fn poll_candidate<A>(&mut self, set: Pin<&mut A>, cx: &mut Context<'_>) -> Poll<bool>
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        if self.candidate.is_some() || self.source_over {
            return Poll::Ready(self.candidate.is_some());
        }
        if self.pace == Pace::Prompt && self.draw(cx).is_ready() {
            return Poll::Ready(self.candidate.is_some());
        }
        let drawn = match set.side_waker(Side::Source, cx.waker()) {
            Some((_, false)) if self.pace == Pace::Waiting => Poll::Pending,
            Some((waker, _)) => {
                let drawn = self.draw(&mut Context::from_waker(&waker));
                self.pace = match drawn {
                    Poll::Ready(()) => Pace::Slow,
                    Poll::Pending => Pace::Waiting,
                };
                drawn
            }
            None => self.draw(cx),
        };
        drawn.map(|()| self.candidate.is_some())
    }

    fn draw(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let was_over = mem::replace(&mut self.source_over, true); // and stays so after a panic
        debug_assert!(!was_over, "a source is not polled after its end");
        let drawn = self.source.poll_candidate(cx);
        self.source_over = matches!(drawn, Poll::Ready(None));
        drawn.map(|candidate| {
            if candidate.is_some() {
                self.had_candidate = true;
                self.candidate = candidate;
            }
        })
    }
}
