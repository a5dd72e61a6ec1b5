//! The poll loop: deliver what has finished, else start what is due, else wait.

use core::{
    mem,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use super::{
    Schedule,
    schedule::read,
    timeouts::{Expired, Expiries},
};
use crate::{
    Hook, Moment, Policy, Timer, attempts::AttemptSet, observe::Refusal, source::Source, stagger,
};

/// The number of attempts that one poll may start before it yields to its executor.
const STARTS_PER_POLL: usize = 32;

/// What happened in a race.
pub(crate) enum Step<A, O> {
    /// An attempt finished.
    Finished { index: usize, arg: A, output: O },
    /// An attempt exceeded the attempt timeout. Its future is dropped.
    TimedOut {
        index: usize,
        arg: A,
        timeout: Duration,
    },
    /// The source took back a candidate whose start was due.
    TakenBack,
    /// The deadline of the race passed.
    Deadline,
    /// Nothing is running and nothing can start.
    Exhausted,
}

impl<A, O> Step<A, O> {
    #[inline]
    pub(super) fn finished(((arg, index), output): ((A, usize), O)) -> Self {
        Self::Finished { index, arg, output }
    }
}

impl<S: Source, T: Timer + Unpin, P: Policy, H: Hook, Q: Expiries> Schedule<S, T, P, H, Q> {
    /// Returns what happens next in the race.
    #[inline]
    pub(crate) fn poll_step<A>(
        &mut self,
        set: Pin<&mut A>,
        cx: &mut Context<'_>,
    ) -> Poll<Step<S::Arg, S::Output>>
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        if !H::LISTS_RUNNING && !self.gives_handles() {
            return self.poll_with_signals(set, cx);
        }
        if mem::replace(&mut self.in_poll, true) {
            self.report_panicked(set.as_ref().get_ref());
        }
        let polled = self.poll_with_signals(set, cx);
        self.in_poll = false;
        polled
    }

    /// Polls once. Between two polls, signals of the attempts wake the race.
    #[inline(always)]
    fn poll_with_signals<A>(
        &mut self,
        set: Pin<&mut A>,
        cx: &mut Context<'_>,
    ) -> Poll<Step<S::Arg, S::Output>>
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        self.begin_signals();
        let polled = self.poll_once(set, cx);
        self.end_signals(&polled, cx);
        polled
    }

    /// Polls the attempts, then the timer and the starts. Inlined, because most polls end after the
    /// attempts.
    #[inline(always)]
    fn poll_once<A>(
        &mut self,
        mut set: Pin<&mut A>,
        cx: &mut Context<'_>,
    ) -> Poll<Step<S::Arg, S::Output>>
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        let was_settled = mem::take(&mut self.settled);
        // Before the timer, so that neither starves the other of a task's cooperative budget.
        let (polled, has_changed) = self.poll_attempts(set.as_mut(), cx);
        match polled {
            Poll::Ready(Some(step)) => return Poll::Ready(step),
            Poll::Pending
                if was_settled && !has_changed && !self.must_poll_timer(set.as_mut(), cx) =>
            {
                self.settled = true;
                return Poll::Pending;
            }
            _ => {}
        }
        self.poll_start(set, cx)
    }

    /// Polls the attempts and applies their signals. Returns the next one that has finished and not
    /// lost, and whether there were signals.
    #[inline(always)]
    #[expect(clippy::type_complexity, reason = "two answers of one poll")]
    pub(super) fn poll_attempts<A>(
        &mut self,
        mut set: Pin<&mut A>,
        cx: &mut Context<'_>,
    ) -> (Poll<Option<Step<S::Arg, S::Output>>>, bool)
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        let mut has_changed = false;
        loop {
            let polled = set.as_mut().poll_ready(cx);
            has_changed |= self.apply_signals(set.as_mut());
            let polled = match polled {
                Poll::Ready(Some(finished)) => {
                    self.timeouts.finished(finished.0.1);
                    if self.discard_if_lost(finished.0.1) {
                        continue;
                    }
                    Poll::Ready(Some(Step::finished(finished)))
                }
                Poll::Ready(None) => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            };
            return (polled, has_changed);
        }
    }

    /// Forgets the attempts that are gone since a poll panicked, and tells the observers.
    #[cold]
    #[inline(never)]
    fn report_panicked<A>(&mut self, set: &A)
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        let is_running = |index| {
            let mut is_running = false;
            set.for_each(|&(_, running)| is_running |= running == index);
            is_running
        };
        self.retain_handles(is_running);
        self.hooks.retain(&mut |index| is_running(index));
    }

    /// Returns the next attempt that has finished, and starts nothing.
    pub(crate) fn poll_running<A>(
        &mut self,
        set: Pin<&mut A>,
        cx: &mut Context<'_>,
    ) -> Poll<Step<S::Arg, S::Output>>
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        self.settled = false;
        self.begin_signals();
        let (polled, _) = self.poll_attempts(set, cx);
        self.end_signals(&polled, cx);
        polled.map(|step| step.unwrap_or(Step::Exhausted))
    }

    /// The only loop of a race: starts what is due, and waits for the next start or timeout.
    #[inline]
    fn poll_start<A>(
        &mut self,
        mut set: Pin<&mut A>,
        cx: &mut Context<'_>,
    ) -> Poll<Step<S::Arg, S::Output>>
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        self.register_start(set.as_ref().get_ref());
        let mut starts = 0;
        loop {
            let start = self.poll_due(set.as_mut(), cx);
            if start != Moment::ZERO && self.is_exhausted(start, set.as_ref().get_ref()) {
                self.ended = true;
                self.supply.end_reserving();
                self.disarm();
                return Poll::Ready(Step::Exhausted);
            }
            match self.poll_wait(start, set.as_mut(), cx) {
                Poll::Pending => {
                    self.supply.end_reserving(); // the start is not due any more
                    self.settled = !self.draws(set.as_ref().get_ref());
                    return Poll::Pending;
                }
                Poll::Ready(None) => {}
                Poll::Ready(Some(expired)) => {
                    match start {
                        Moment::NEVER => self.supply.end_reserving(),
                        _ => self.stagger.put_off(),
                    }
                    match self.expire(expired, set.as_mut()) {
                        Some(step) => return Poll::Ready(step),
                        None => continue,
                    }
                }
            }
            match self.poll_reserve(set.as_mut(), cx) {
                Poll::Ready(true) => {}
                Poll::Ready(false) => return Poll::Ready(Step::TakenBack),
                Poll::Pending => match self.poll_expiry(set.as_mut(), cx) {
                    Poll::Ready(None) => continue,
                    Poll::Ready(Some(step)) => return Poll::Ready(step),
                    Poll::Pending => return Poll::Pending,
                },
            }
            starts += 1;
            if let Poll::Ready(step) = self.start_next(set.as_mut(), cx) {
                return Poll::Ready(step);
            }
            if starts >= STARTS_PER_POLL && !self.is_full(set.as_ref().get_ref()) {
                self.begin_deadline();
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
    }

    /// Waits for the next expiry while the source reserves what the start that is due needs. Returns
    /// `None` if an attempt expired that had panicked.
    #[cold]
    #[inline(never)]
    fn poll_expiry<A>(
        &mut self,
        mut set: Pin<&mut A>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Step<S::Arg, S::Output>>>
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        let polled = self.poll_wait(Moment::NEVER, set.as_mut(), cx);
        polled.map(|expired| expired.and_then(|expired| self.expire(expired, set)))
    }

    /// Returns when the next attempt can start: `ZERO` is now, `NEVER` is when something other than
    /// time allows it, or not at all. Unless it is `NEVER`, a candidate is in hand.
    #[inline]
    fn poll_due<A>(&mut self, mut set: Pin<&mut A>, cx: &mut Context<'_>) -> Moment
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        if self.is_full(set.as_ref().get_ref()) {
            self.full(set, cx);
            return Moment::NEVER;
        }
        match self.supply.poll_candidate(set.as_mut(), cx) {
            Poll::Pending => {
                self.hold();
                return Moment::NEVER;
            }
            Poll::Ready(false) => return Moment::NEVER,
            Poll::Ready(true) => {}
        }
        let (timer, began) = (&self.timer, &mut self.began);
        match self.stagger.next_with_room(|| read(timer, began)) {
            stagger::Next::Start => Moment::ZERO,
            stagger::Next::Until(moment) => moment,
            stagger::Next::Full | stagger::Next::OnFailure | stagger::Next::Over => Moment::NEVER,
        }
    }

    /// Whether the next poll draws a candidate.
    #[inline]
    fn draws<A>(&self, set: &A) -> bool
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        self.supply.may_draw() && (self.draws_ahead() || !self.is_full(set))
    }

    /// Whether nothing is running, and nothing can start any more, also not before the deadline;
    /// the next start is at `start`. The source is not awaited for a start that cannot come.
    #[inline]
    fn is_exhausted<A>(&mut self, start: Moment, set: &A) -> bool
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        set.len() == 0
            && (self.cannot_start(start, set) || self.timeouts.are_set() && self.is_too_late())
    }

    #[inline]
    fn cannot_start<A>(&self, start: Moment, set: &A) -> bool
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        let awaits_source = self.supply.may_draw() && self.stagger.due() != Moment::NEVER;
        start == Moment::NEVER && (!awaits_source || self.is_full(set))
    }

    /// Whether the deadline comes before the next start, or at the same time.
    #[cold]
    #[inline(never)]
    fn is_too_late(&mut self) -> bool {
        self.begin_deadline();
        let (due, deadline) = (self.stagger.due(), self.timeouts.deadline());
        let is_too_late = due != Moment::ZERO && due >= deadline;
        if is_too_late && self.has_candidates_left() {
            self.refused = Some(Refusal::Deadline);
        }
        is_too_late
    }

    /// The next start waits for something other than its time, which is not lateness.
    pub(super) fn hold(&mut self) {
        self.clock();
        self.stagger.hold();
    }

    /// Waits for the next start. Returns what expires before it.
    #[inline]
    fn poll_wait<A>(
        &mut self,
        start: Moment,
        mut set: Pin<&mut A>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Expired>>
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        if start != Moment::ZERO {
            self.begin_deadline();
        }
        if start == Moment::ZERO && !self.timeouts.are_set() {
            return Poll::Ready(None);
        }
        let expiry = self.timeouts.next();
        if start != Moment::ZERO {
            let next = start.min(expiry);
            if next == Moment::NEVER {
                self.disarm();
                return Poll::Pending;
            }
            if self.poll_timer(next, set.as_mut(), cx).is_pending() {
                return Poll::Pending;
            }
        }
        if expiry != Moment::NEVER && self.poll_timer(expiry, set, cx).is_ready() {
            return Poll::Ready(Some(self.timeouts.take_expired()));
        }
        Poll::Ready(None)
    }

    /// Drops an attempt that has expired. Returns `None` if it panicked before.
    fn expire<A>(&mut self, expired: Expired, set: Pin<&mut A>) -> Option<Step<S::Arg, S::Output>>
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        let Expired::Attempt { index, timeout } = expired else {
            return Some(Step::Deadline);
        };
        let (arg, index) = set.remove(|&(_, running)| running == index)?;
        Some(Step::TimedOut {
            index,
            arg,
            timeout,
        })
    }
}
