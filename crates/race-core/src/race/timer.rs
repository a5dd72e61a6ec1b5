//! How a race uses its timer: armed for exactly the next thing that can happen.

use core::{
    mem,
    pin::Pin,
    task::{Context, Poll},
};

use super::{Schedule, timeouts::Expiries};
use crate::{
    Hook, Moment, Policy, Timer,
    attempts::{AttemptSet, Side},
    source::Source,
};

impl<S: Source, T: Timer + Unpin, P: Policy, H: Hook, Q: Expiries> Schedule<S, T, P, H, Q> {
    /// Returns `Ready` if `moment` has passed; otherwise arms the timer for it.
    pub(super) fn poll_timer<A>(
        &mut self,
        moment: Moment,
        set: Pin<&mut A>,
        cx: &mut Context<'_>,
    ) -> Poll<()>
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        let mut timer = Pin::new(&mut self.timer);
        let polled = match set.side_waker(Side::Timer, cx.waker()) {
            Some((_, false)) if self.armed == moment => return Poll::Pending,
            Some((waker, _)) => {
                let mut cx = Context::from_waker(&waker);
                timer.as_mut().poll_until(moment, &mut cx)
            }
            None => timer.as_mut().poll_until(moment, cx),
        };
        let armed = match polled {
            Poll::Pending => moment,
            Poll::Ready(()) => Moment::NEVER,
        };
        let was_armed = mem::replace(&mut self.armed, armed);
        if polled.is_ready() && was_armed != Moment::NEVER && was_armed > moment {
            timer.disarm(); // it would wake for the later moment
        }
        polled
    }

    /// Returns whether the timer is armed and may have woken.
    #[inline]
    pub(super) fn must_poll_timer<A>(&mut self, set: Pin<&mut A>, cx: &mut Context<'_>) -> bool
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        if self.armed == Moment::NEVER {
            return false;
        }
        match set.side_waker(Side::Timer, cx.waker()) {
            Some((_, false)) => false,
            Some((_, true)) => {
                self.armed = Moment::NEVER; // it woke, and must be polled
                true
            }
            None => true,
        }
    }

    pub(super) fn disarm(&mut self) {
        if mem::replace(&mut self.armed, Moment::NEVER) != Moment::NEVER {
            Pin::new(&mut self.timer).disarm();
        }
    }

    /// Counts the deadline from here, if that is still to be done.
    #[inline]
    pub(crate) fn begin_deadline(&mut self) {
        if self.timeouts.awaits_clock() {
            self.timeouts.begin(self.timer.now());
            self.note_began();
        }
    }
}
