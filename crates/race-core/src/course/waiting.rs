//! What a race waits for: its timer, which is armed for the next start or for what runs out before.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;
use core::{
    mem,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use super::Course;
use crate::{
    Moment, Policy, Timer,
    attempts::{AttemptSet, Side},
    ends::Limits,
    source::Source,
};

impl<S: Source, T: Timer + Unpin, P: Policy> Course<S, T, P> {
    pub(super) fn poll_timer<F, A>(
        &mut self,
        moment: Moment,
        running: Pin<&mut impl AttemptSet<F, A>>,
        cx: &mut Context<'_>,
    ) -> Poll<()>
    where
        F: Future,
    {
        let mut timer = Pin::new(&mut self.timer);
        let polled = match running.side_waker(Side::Timer, cx.waker()) {
            Some((_, false)) if self.armed == Some(moment) => return Poll::Pending,
            Some((waker, _)) => {
                let mut cx = Context::from_waker(&waker);
                timer.as_mut().poll_until(moment, &mut cx)
            }
            None => timer.as_mut().poll_until(moment, cx),
        };
        let armed = mem::replace(&mut self.armed, polled.is_pending().then_some(moment));
        if polled.is_ready() && armed.is_some_and(|armed| armed > moment) {
            timer.disarm(); // it would wake for the later one
        }
        polled
    }

    /// Is ready, and has rung, if one of the limits has run out.
    pub(super) fn poll_limits<F, A>(
        &mut self,
        limits: &mut impl Limits,
        running: Pin<&mut impl AttemptSet<F, A>>,
        cx: &mut Context<'_>,
    ) -> Poll<()>
    where
        F: Future,
    {
        let alarm = limits.alarm();
        if alarm == Moment::NEVER {
            return Poll::Pending;
        }
        let polled = self.poll_timer(alarm, running, cx);
        if polled.is_ready() {
            limits.ring();
        }
        polled
    }

    /// The next start waits for something other than its time, which is not lateness.
    pub(super) fn hold<F: Future, A, V>(
        &mut self,
        running: Pin<&mut impl AttemptSet<F, A>>,
        limits: &mut impl Limits,
        cx: &mut Context<'_>,
    ) -> Poll<V> {
        self.clock();
        self.stagger.hold();
        self.wait(running, limits, cx)
    }

    /// Nothing can start now. If nothing runs either, nothing ever will.
    pub(super) fn wait_or_end<F: Future, A, V>(
        &mut self,
        running: Pin<&mut impl AttemptSet<F, A>>,
        limits: &mut impl Limits,
        cx: &mut Context<'_>,
    ) -> Poll<Option<V>> {
        if running.len() == 0 {
            self.ended = true;
            return Poll::Ready(None);
        }
        self.wait(running, limits, cx)
    }

    /// No start is due at a known time.
    fn wait<F: Future, A, V, L: Limits>(
        &mut self,
        running: Pin<&mut impl AttemptSet<F, A>>,
        limits: &mut L,
        cx: &mut Context<'_>,
    ) -> Poll<V> {
        if L::ANY {
            self.begin(limits);
            if limits.alarm() != Moment::NEVER {
                let _rung = self.poll_limits(limits, running, cx);
                return Poll::Pending;
            }
        }
        self.disarm();
        Poll::Pending
    }

    /// The limits count from here, if they did not yet.
    pub(crate) fn begin(&self, limits: &mut impl Limits) {
        limits.begin(|| self.timer.now());
    }

    /// They count from here for those that run already, too.
    #[cfg(feature = "alloc")]
    #[cold]
    pub(crate) fn limit_running<R>(&self, running: Pin<&mut R>, limits: &mut impl Limits)
    where
        R: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        let now = self.timer.now();
        let mut places = Vec::with_capacity(running.len());
        running.for_each(|&(_, place)| places.push(place));
        places.sort_unstable();
        for place in places {
            limits.started(place, now);
        }
    }

    fn disarm(&mut self) {
        if self.armed.take().is_some() {
            Pin::new(&mut self.timer).disarm();
        }
    }

    /// No more start. Limits, if they go on, are polled anew.
    #[cfg(feature = "alloc")]
    pub(crate) fn stop(&mut self) {
        self.stagger.stop();
        self.source_over = true;
        self.candidate = None;
        self.disarm();
    }

    /// None starts before `delay` has passed.
    #[cfg(feature = "alloc")]
    pub(crate) fn not_before(&mut self, delay: Duration) {
        if delay.is_zero() {
            return;
        }
        match read(&self.timer, &mut self.began) + delay {
            Moment::NEVER => self.stop(),
            moment => self.stagger.not_before(moment),
        }
    }

    /// Tells the stagger when the latest attempt started, if it has not been told.
    pub(super) fn clock(&mut self) {
        let (timer, began) = (&self.timer, &mut self.began);
        self.stagger.clock(|| read(timer, began));
    }

    /// Notes when the race began, for those who report how long it took. To be called when a poll
    /// was `Pending`.
    pub(crate) fn note_began(&mut self) {
        if self.began.is_none() && self.stagger.starts() > 0 {
            read(&self.timer, &mut self.began);
        }
    }

    /// How long the race has taken; zero if it was over in its first poll.
    pub(crate) fn elapsed(&self) -> Duration {
        elapsed(&self.timer, self.began)
    }
}

/// How long a race has taken.
pub(super) fn elapsed<T: Timer>(timer: &T, began: Option<Moment>) -> Duration {
    began.map_or(Duration::ZERO, |began| timer.now().since(began))
}

/// Reads the clock. The first reading of a race is when it began.
pub(super) fn read<T: Timer>(timer: &T, began: &mut Option<Moment>) -> Moment {
    let now = timer.now();
    began.get_or_insert(now);
    now
}
