use core::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use crate::{
    CatchUp, Fixed, Moment, Next, Policy, Stagger, Timer,
    running::{Aside, Running},
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
    pub(crate) fn max_in_flight(mut self, max: usize) -> Self {
        self.stagger.set_max_in_flight(max);
        self
    }

    pub(crate) fn catch_up(mut self, catch_up: CatchUp) -> Self {
        self.stagger.set_catch_up(catch_up);
        self
    }

    pub(crate) fn policy<Q: Policy>(self, policy: Q) -> Course<S, T, Q> {
        Course {
            candidate: self.candidate,
            source: self.source,
            source_over: self.source_over,
            pace: self.pace,
            ended: self.ended,
            stagger: self.stagger.with_policy(policy),
            timer: self.timer,
            armed: self.armed,
            began: self.began,
        }
    }

    pub(crate) fn size_hint(&self, running: usize) -> (usize, Option<usize>) {
        let in_hand = running + usize::from(self.candidate.is_some());
        let (lower, upper) = match self.source_over {
            true => (0, Some(0)),
            false => self.source.size_hint(),
        };
        let upper = upper.and_then(|upper| upper.checked_add(in_hand));
        (lower.saturating_add(in_hand), upper)
    }
}

impl<S: Source, T: Timer + Unpin, P: Policy> Course<S, T, P> {
    /// Deliver what has finished; else start what is due; else wait.
    #[inline]
    pub(crate) fn poll_finished<R>(
        &mut self,
        mut running: Pin<&mut R>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Finished<S::Arg, S::Output>>>
    where
        R: Running<S::Attempt, (S::Arg, usize)>,
    {
        // Before the timer, so that neither starves the other of a task's cooperative budget.
        if let Poll::Ready(Some(done)) = running.as_mut().poll_ready(cx) {
            return self.deliver(Finished::new(done));
        }
        if self.armed.is_some() {
            match running.as_mut().aside(Aside::Timer, cx.waker()) {
                Some((_, false)) if !self.stagger.is_due() => return Poll::Pending,
                Some((_, true)) => self.armed = None, // it woke, and must be polled
                _ => {}
            }
        } else if !self.may_start() && running.len() > 0 {
            return Poll::Pending;
        }
        self.poll_start(running, cx)
    }

    /// The only loop. A poll that found none finished goes on here.
    #[inline]
    fn poll_start<R>(
        &mut self,
        mut running: Pin<&mut R>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Finished<S::Arg, S::Output>>>
    where
        R: Running<S::Attempt, (S::Arg, usize)>,
    {
        let mut starts = 0;
        loop {
            if running.is_full() || self.stagger.is_full(running.len()) {
                return self.hold();
            }
            if starts == STARTS_PER_POLL {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let candidate = match self.poll_candidate(running.as_mut(), cx) {
                Poll::Ready(Some(candidate)) => candidate,
                Poll::Ready(None) if running.len() == 0 => {
                    self.ended = true;
                    return Poll::Ready(None);
                }
                Poll::Ready(None) => return self.wait(),
                Poll::Pending => return self.hold(),
            };
            let (timer, began) = (&self.timer, &mut self.began);
            match self.stagger.next(running.len(), || read(timer, began)) {
                Next::Start => {}
                Next::Until(moment) => {
                    if self.poll_timer(moment, running.as_mut(), cx).is_pending() {
                        self.candidate = Some(candidate);
                        return Poll::Pending;
                    }
                }
                Next::Full | Next::OnFailure => {
                    self.candidate = Some(candidate);
                    return self.wait();
                }
            }
            let (arg, attempt) = self.source.attempt(candidate);
            let place = self.stagger.started();
            starts += 1;
            let polled = running.as_mut().push_and_poll((arg, place), attempt, cx);
            if let Poll::Ready(done) = polled {
                return self.deliver(Finished::new(done));
            }
        }
    }

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
        running: Pin<&mut impl Running<F, A>>,
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
        match running.aside(Aside::Source, cx.waker()) {
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

    fn poll_timer<F, A>(
        &mut self,
        moment: Moment,
        running: Pin<&mut impl Running<F, A>>,
        cx: &mut Context<'_>,
    ) -> Poll<()>
    where
        F: Future,
    {
        let timer = Pin::new(&mut self.timer);
        let polled = match running.aside(Aside::Timer, cx.waker()) {
            Some((_, false)) if self.armed == Some(moment) => return Poll::Pending,
            Some((waker, _)) => timer.poll_until(moment, &mut Context::from_waker(&waker)),
            None => timer.poll_until(moment, cx),
        };
        self.armed = polled.is_pending().then_some(moment);
        polled
    }

    /// The next start waits for something other than its time, which is not lateness.
    fn hold<V>(&mut self) -> Poll<V> {
        self.clock();
        self.stagger.hold();
        self.wait()
    }

    /// Nothing is due at a known time.
    fn wait<V>(&mut self) -> Poll<V> {
        if self.armed.take().is_some() {
            Pin::new(&mut self.timer).disarm();
        }
        Poll::Pending
    }

    /// Tells the stagger when the latest attempt started, if it has not been told.
    fn clock(&mut self) {
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
        self.began
            .map_or(Duration::ZERO, |began| self.timer.now().since(began))
    }
}

/// Reads the clock. The first reading of a race is when it began.
fn read<T: Timer>(timer: &T, began: &mut Option<Moment>) -> Moment {
    let now = timer.now();
    began.get_or_insert(now);
    now
}

impl<S: Source, T, P: Policy> fmt::Debug for Course<S, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Course")
            .field("started", &self.stagger.starts())
            .field("source_over", &self.source_over)
            .finish_non_exhaustive()
    }
}
