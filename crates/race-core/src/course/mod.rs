mod waiting;

use core::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use self::waiting::{elapsed, read};
use crate::{
    Fixed, Moment, Next, Policy, Stagger, Suppressed, Timer, What,
    attempts::{AttemptSet, Side},
    ends::{Limits, Unlimited},
    source::Source,
};

/// How many attempts one poll may start before it yields to its executor.
const STARTS_PER_POLL: usize = 32;

/// A race without its running attempts: what may start, when, and the loop that starts it.
pub struct Course<S: Source, T, P> {
    /// The next to start, if it had to wait when it was drawn.
    candidate: Option<S::Candidate>,
    source: S,
    /// The source has no more, or has panicked.
    source_over: bool,
    pace: Pace,
    /// The race has said that it is over.
    pub(crate) ended: bool,
    pub(crate) stagger: Stagger<P>,
    timer: T,
    /// What the timer was last polled for, and was not ready.
    armed: Option<Moment>,
    /// When the first attempt started, once the clock has been read.
    began: Option<Moment>,
}

/// How a source gives.
#[derive(Clone, Copy, PartialEq)]
enum Pace {
    /// It has never been pending, and needs no waker of its own.
    Prompt,
    /// It has been pending.
    Slow,
    /// It is pending, and will wake by its own waker.
    Waiting,
}

/// An attempt that has run to its end.
pub(crate) struct Finished<A, O> {
    pub(crate) place: usize,
    pub(crate) arg: A,
    pub(crate) output: O,
}

impl<A, O> Finished<A, O> {
    fn new(((arg, place), output): ((A, usize), O)) -> Self {
        Self { place, arg, output }
    }
}

impl<S: Source, T> Course<S, T, Fixed> {
    pub(crate) fn new(timer: T, step: Duration, source: S) -> Self {
        Self {
            candidate: None,
            source,
            source_over: false,
            pace: Pace::Prompt,
            ended: false,
            stagger: Stagger::new(Fixed(step)),
            timer,
            armed: None,
            began: None,
        }
    }
}

impl<S: Source, T, P: Policy> Course<S, T, P> {
    pub(crate) fn map_policy<Q: Policy>(self, map: impl FnOnce(P) -> Q) -> Course<S, T, Q> {
        Course {
            candidate: self.candidate,
            source: self.source,
            source_over: self.source_over,
            pace: self.pace,
            ended: self.ended,
            stagger: self.stagger.map_policy(map),
            timer: self.timer,
            armed: self.armed,
            began: self.began,
        }
    }

    /// Bounds on how many will still finish. A policy may start none of the candidates, so only those
    /// that run are certain.
    pub(crate) fn size_hint(&self, running: usize) -> (usize, Option<usize>) {
        let in_hand = usize::from(self.candidate.is_some());
        let to_come = match self.source_over {
            true => Some(0),
            false => self.source.size_hint().1,
        };
        let candidates = to_come.and_then(|to_come| to_come.checked_add(in_hand));
        let starts = match (candidates, self.stagger.remaining()) {
            (None, usize::MAX) => None,
            (candidates, remaining) => {
                Some(candidates.map_or(remaining, |candidates| candidates.min(remaining)))
            }
        };
        let upper = starts.and_then(|starts| starts.checked_add(running));
        (running, upper)
    }
}

impl<S: Source, T: Timer + Unpin, P: Policy> Course<S, T, P> {
    /// Deliver what has finished; else start what is due; else wait. Also pending, at once, when one of the
    /// limits runs out, which rings it.
    #[inline]
    pub(crate) fn poll_finished<R, L>(
        &mut self,
        mut running: Pin<&mut R>,
        limits: &mut L,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Finished<S::Arg, S::Output>>>
    where
        R: AttemptSet<S::Attempt, (S::Arg, usize)>,
        L: Limits,
    {
        // Before the timer, so that neither starves the other of a task's cooperative budget.
        if let Poll::Ready(Some(done)) = running.as_mut().poll_ready(cx) {
            return self.deliver(Finished::new(done));
        }
        if self.armed.is_some() {
            match running.as_mut().side_waker(Side::Timer, cx.waker()) {
                // With limits it may be armed for one of them, while a start has come into reach.
                Some((_, false)) if !L::ANY && !self.stagger.is_due() => return Poll::Pending,
                Some((_, true)) => self.armed = None, // it woke, and must be polled
                _ => {}
            }
        } else if !L::ANY && !self.may_start() && running.len() > 0 {
            return Poll::Pending;
        }
        self.poll_start(running, limits, cx)
    }

    /// As a stream has it.
    #[inline(always)]
    pub(crate) fn poll_item<R>(
        &mut self,
        running: Pin<&mut R>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<(S::Arg, S::Output)>>
    where
        R: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        let finished = self.poll_finished(running, &mut Unlimited, cx);
        finished.map(|done| {
            done.map(|Finished { place, arg, output }| {
                self.stagger.note(place, What::Finished);
                (arg, output)
            })
        })
    }

    /// The only loop. A poll that found none finished goes on here.
    #[inline]
    fn poll_start<R, L>(
        &mut self,
        mut running: Pin<&mut R>,
        limits: &mut L,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Finished<S::Arg, S::Output>>>
    where
        R: AttemptSet<S::Attempt, (S::Arg, usize)>,
        L: Limits,
    {
        let mut starts = 0;
        loop {
            if running.is_full() || self.stagger.is_full(running.len()) {
                // Not for a candidate of whom it is known that there is none.
                if self.may_start() && self.size_hint(0).1 != Some(0) {
                    let bound = What::Suppressed(Suppressed::Bound);
                    self.stagger.note(self.stagger.starts(), bound);
                }
                return self.hold(running, limits, cx);
            }
            if starts == STARTS_PER_POLL {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let candidate = match self.poll_candidate(running.as_mut(), cx) {
                Poll::Ready(Some(candidate)) => candidate,
                Poll::Ready(None) => return self.wait_or_end(running, limits, cx),
                Poll::Pending => return self.hold(running, limits, cx),
            };
            let (timer, began) = (&self.timer, &mut self.began);
            match self.stagger.next(running.len(), || read(timer, began)) {
                Next::Start => {}
                Next::Until(moment) => {
                    self.begin(limits);
                    let moment = moment.min(limits.alarm());
                    if self.poll_timer(moment, running.as_mut(), cx).is_pending() {
                        self.candidate = Some(candidate);
                        return Poll::Pending;
                    }
                }
                Next::Full | Next::OnFailure | Next::Over => {
                    self.candidate = Some(candidate);
                    return self.wait_or_end(running, limits, cx);
                }
            }
            if L::ANY && self.poll_limits(limits, running.as_mut(), cx).is_ready() {
                self.stagger.put_off();
                self.candidate = Some(candidate);
                return Poll::Pending;
            }
            let (timer, began) = (&self.timer, self.began);
            let elapsed = || elapsed(timer, began);
            if !self.stagger.admit(running.len(), &elapsed) {
                self.candidate = Some(candidate);
                return self.wait_or_end(running, limits, cx);
            }
            let (arg, attempt) = self.source.attempt(candidate);
            let place = self.stagger.started();
            starts += 1;
            if self.stagger.is_over() {
                self.source_over = true; // none is drawn that could not start
            }
            let polled = running.as_mut().push_and_poll((arg, place), attempt, cx);
            if let Poll::Ready(done) = polled {
                return self.deliver(Finished::new(done));
            }
            if L::ANY {
                let now = read(&self.timer, &mut self.began);
                self.stagger.clock(|| now);
                limits.started(place, now);
            }
        }
    }

    #[inline]
    fn deliver<V>(&mut self, finished: V) -> Poll<Option<V>> {
        // The consumer may now take its time, so the step must count from here; except that the first
        // attempt alone is not worth a clock.
        if self.stagger.starts() > 1 && self.may_start() {
            self.clock();
        }
        Poll::Ready(Some(finished))
    }

    /// Whether there is a candidate, or may be one.
    fn may_start(&self) -> bool {
        self.candidate.is_some() || !self.source_over
    }

    /// The candidate in hand, or else the next from the source.
    #[inline]
    fn poll_candidate<F, A>(
        &mut self,
        running: Pin<&mut impl AttemptSet<F, A>>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<S::Candidate>>
    where
        F: Future,
    {
        if self.candidate.is_some() || self.source_over {
            return Poll::Ready(self.candidate.take());
        }
        if self.pace == Pace::Prompt {
            let drawn = self.draw(cx);
            if drawn.is_ready() {
                return drawn;
            }
        }
        match running.side_waker(Side::Source, cx.waker()) {
            Some((_, false)) if self.pace == Pace::Waiting => Poll::Pending,
            Some((waker, _)) => {
                let drawn = self.draw(&mut Context::from_waker(&waker));
                self.pace = match drawn {
                    Poll::Ready(_) => Pace::Slow,
                    Poll::Pending => Pace::Waiting,
                };
                drawn
            }
            None => self.draw(cx),
        }
    }

    fn draw(&mut self, cx: &mut Context<'_>) -> Poll<Option<S::Candidate>> {
        self.source_over = true; // and stays so if the source panics
        let drawn = self.source.poll_candidate(cx);
        self.source_over = matches!(drawn, Poll::Ready(None));
        drawn
    }
}

impl<S: Source, T, P: Policy> fmt::Debug for Course<S, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Course")
            .field("started", &self.stagger.starts())
            .field("source_over", &self.source_over)
            .finish_non_exhaustive()
    }
}
