use core::{
    fmt,
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::{FusedStream, Stream};

use crate::{
    CatchUp, First, FirstOk, Fixed, Moment, Next, Policy, Stagger, Timer,
    attempts::{Attempts, Finished},
    source::{Args, Arrivals, Of, Source},
};

/// How many attempts one poll may start before it yields to its executor.
const STARTS_PER_POLL: usize = 32;

/// A staggered race: attempt 0 starts at once, the next a step later, and so on; what finishes
/// first comes out first, whatever its place.
///
/// A race is a [`Stream`] of every completion, as `(argument, output)`. [`first`](Race::first) and
/// [`first_ok`](Race::first_ok) end it with the winner. It is always `Unpin`, so `.next().await`
/// needs no pinning, and it is `Send` exactly when its parts are.
///
/// The constructors without a timer belong to the adapters' aliases, such as `race_tokio::Race`;
/// those with one (`of_with`, `new_with`, `from_stream_with`) run on any [`Timer`].
///
/// - `S`, the [`Source`], gives the candidates. The constructors make it.
/// - `T`, the [`Timer`], tells the time.
/// - `P`, the [`Policy`], tells when attempts start: a [`Fixed`] step unless
///   [`policy`](Race::policy) says otherwise.
///
/// # Nothing runs while it is not polled
///
/// A race is as lazy as a future. Its clock starts at its first poll. Between two polls nothing
/// starts and no attempt moves on, so keep awaiting it, or give it a task of its own. What the
/// consumer misses is settled by [`catch_up`](Race::catch_up).
///
/// Dropping the race drops, and so cancels, all that runs.
///
/// # Panics
///
/// Polling it panics when an attempt, the function that makes attempts, or the source panics.
/// Whoever catches that may poll on: a panicked attempt is gone and the others are delivered; a
/// candidate whose attempt could not be made is lost; a panicked source is at its end.
///
/// # Cancel safety
///
/// `next` loses nothing when it is dropped before it is ready: what has finished stays with the
/// race until it is handed out.
pub struct Race<S: Source, T, P = Fixed> {
    // The attempts go first, as they may use what the source's function owns.
    attempts: Attempts<S::Arg, S::Attempt>,
    candidate: Option<S::Candidate>,
    source: S,
    /// The source has no more, or has panicked.
    source_over: bool,
    /// The stream has said so.
    ended: bool,
    stagger: Stagger<P>,
    timer: T,
    /// When the first attempt started, once the clock has been read.
    began: Option<Moment>,
}

/// Nothing in a race is pinned in place: the running attempts are on the heap.
impl<S: Source, T, P> Unpin for Race<S, T, P> {}

// The compiler quotes the lines of these bounds at whoever races without a timer.
impl<I, T> Race<Of<I>, T>
where
    I: Iterator<Item: Future>,
    T: Timer + Default + Unpin, // an adapter's: use race_tokio::Race, race_async_io::Race or race_smol::Race, else of_with(timer, ..)
{
    /// Races the futures of an iterator, `step` apart. The argument of each is its place in the
    /// iterator. They are taken from it on demand, so it may be endless.
    ///
    /// Zero starts all at once. A step beyond about 584 years is never.
    pub fn of(step: Duration, attempts: impl IntoIterator<IntoIter = I>) -> Self {
        Self::of_with(T::default(), step, attempts)
    }
}

impl<I, R, F, T> Race<Args<I, R>, T>
where
    I: Iterator,
    R: FnMut(&I::Item) -> F,
    F: Future,
    T: Timer + Default + Unpin, // an adapter's: use race_tokio::Race, race_async_io::Race or race_smol::Race, else new_with(timer, ..)
{
    /// Races `run(&arg)` for each argument, `step` apart, and gives the argument back with the
    /// output. Arguments are taken on demand, so they may be endless.
    ///
    /// The future that `run` makes cannot borrow from the argument, as the argument moves; copy or
    /// clone what the future needs before its `async move` block.
    ///
    /// Zero starts all at once. A step beyond about 584 years is never.
    pub fn new(step: Duration, run: R, args: impl IntoIterator<IntoIter = I>) -> Self {
        Self::new_with(T::default(), step, run, args)
    }
}

impl<A, R, F, T> Race<Arrivals<A, R>, T>
where
    A: Stream + Unpin,
    R: FnMut(&A::Item) -> F,
    F: Future,
    T: Timer + Default + Unpin, // an adapter's: use race_tokio::Race, race_async_io::Race or race_smol::Race, else from_stream_with(timer, ..)
{
    /// Races `run(&arg)` for each argument of a stream, no closer than `step` apart; for arguments
    /// that arrive over time. Waiting for one is not lateness. Pin a stream that is not `Unpin`.
    ///
    /// Zero starts each as it arrives. A step beyond about 584 years is never.
    pub fn from_stream(step: Duration, run: R, args: A) -> Self {
        Self::from_stream_with(T::default(), step, run, args)
    }
}

impl<I, T> Race<Of<I>, T>
where
    I: Iterator<Item: Future>,
    T: Timer + Unpin,
{
    /// `Race::of` on a timer of your own.
    pub fn of_with(timer: T, step: Duration, attempts: impl IntoIterator<IntoIter = I>) -> Self {
        Self::from_source(timer, step, Of::new(attempts.into_iter()))
    }
}

impl<I, R, F, T> Race<Args<I, R>, T>
where
    I: Iterator,
    R: FnMut(&I::Item) -> F,
    F: Future,
    T: Timer + Unpin,
{
    /// `Race::new` on a timer of your own.
    pub fn new_with(
        timer: T,
        step: Duration,
        run: R,
        args: impl IntoIterator<IntoIter = I>,
    ) -> Self {
        Self::from_source(timer, step, Args::new(args.into_iter(), run))
    }
}

impl<A, R, F, T> Race<Arrivals<A, R>, T>
where
    A: Stream + Unpin,
    R: FnMut(&A::Item) -> F,
    F: Future,
    T: Timer + Unpin,
{
    /// `Race::from_stream` on a timer of your own.
    pub fn from_stream_with(timer: T, step: Duration, run: R, args: A) -> Self {
        Self::from_source(timer, step, Arrivals::new(args, run))
    }
}

impl<S: Source, T: Timer + Unpin> Race<S, T> {
    /// Races the candidates of a source of your own.
    pub fn from_source(timer: T, step: Duration, source: S) -> Self {
        Self {
            attempts: Attempts::new(),
            candidate: None,
            source,
            source_over: false,
            ended: false,
            stagger: Stagger::new(Fixed(step)),
            timer,
            began: None,
        }
    }
}

impl<S: Source, T, P: Policy> Race<S, T, P> {
    /// At most `max` attempts run at once; the next start waits until one has finished. 0 is
    /// treated as 1. Without it, as many run as have been started.
    #[must_use]
    pub fn max_in_flight(mut self, max: usize) -> Self {
        self.stagger.set_max_in_flight(max);
        self
    }

    /// What becomes of starts that were missed since nobody polled; [`CatchUp::Delay`] by default.
    #[must_use]
    pub fn catch_up(mut self, catch_up: CatchUp) -> Self {
        self.stagger.set_catch_up(catch_up);
        self
    }

    /// Replaces the step. Set it before the race is polled.
    #[must_use]
    pub fn policy<Q: Policy>(self, policy: Q) -> Race<S, T, Q> {
        Race {
            attempts: self.attempts,
            candidate: self.candidate,
            source: self.source,
            source_over: self.source_over,
            ended: self.ended,
            stagger: self.stagger.with_policy(policy),
            timer: self.timer,
            began: self.began,
        }
    }

    /// How many attempts were started and have not been handed out.
    #[must_use]
    pub fn len(&self) -> usize {
        self.attempts.len()
    }

    /// Whether nothing runs, as before the first poll.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<S: Source, T: Timer + Unpin, P: Policy> Race<S, T, P> {
    /// The next completion: the argument and its output. `None` once all are done.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    #[expect(
        clippy::should_implement_trait,
        reason = "a stream's `next`, as `StreamExt` has it"
    )]
    pub fn next(&mut self) -> impl Future<Output = Option<(S::Arg, S::Output)>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx))
    }

    /// The first to finish wins, and the others are cancelled.
    #[must_use = "futures do nothing unless polled"]
    pub fn first(self) -> First<S, T, P> {
        First::new(self)
    }

    /// The first `Ok` wins, and the others are cancelled. When the latest started has failed, or
    /// nothing runs any more, the next starts at once. Without an `Ok` it gives every error.
    #[must_use = "futures do nothing unless polled"]
    pub fn first_ok<V, E>(self) -> FirstOk<S, T, P, E>
    where
        S: Source<Output = Result<V, E>>,
    {
        FirstOk::new(self)
    }

    /// The only poll loop. Deliver what has finished; else start what is due; else wait.
    pub(crate) fn poll_finished(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Finished<S::Arg, S::Output>>> {
        let mut starts = 0;
        loop {
            // Before the timer, so that neither starves the other of a task's cooperative budget.
            if let Poll::Ready(Some(done)) = self.attempts.poll_next(cx) {
                // The consumer may now take its time, so the step must count from here; except that
                // the first attempt alone is not worth a clock.
                if self.stagger.starts() > 1 && self.may_start_more() {
                    self.clock();
                }
                return Poll::Ready(Some(done));
            }
            if !self.stagger.is_full(self.attempts.len()) {
                match self.poll_candidate(cx) {
                    Poll::Ready(true) => {}
                    Poll::Ready(false) if self.attempts.len() == 0 => {
                        self.ended = true;
                        return Poll::Ready(None);
                    }
                    Poll::Ready(false) => return self.wait(),
                    Poll::Pending => {
                        self.clock();
                        self.stagger.hold();
                        return self.wait();
                    }
                }
            }
            if starts == STARTS_PER_POLL {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let (timer, began) = (&self.timer, &mut self.began);
            let next = self
                .stagger
                .next(self.attempts.len(), || read(timer, began));
            match next {
                Next::Start => {}
                Next::Until(moment) => {
                    if Pin::new(&mut self.timer)
                        .poll_until(moment, cx)
                        .is_pending()
                    {
                        return Poll::Pending;
                    }
                }
                Next::Full | Next::OnFailure => return self.wait(),
            }
            if let Some(candidate) = self.candidate.take() {
                let (arg, attempt) = self.source.attempt(candidate);
                let place = self.stagger.started();
                self.attempts.push(place, arg, attempt);
                starts += 1;
            }
        }
    }

    fn may_start_more(&self) -> bool {
        self.candidate.is_some() || !self.source_over
    }

    /// Whether a candidate is in hand; draws one if there is none.
    fn poll_candidate(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        if self.candidate.is_none() && !self.source_over {
            self.source_over = true; // and stays so if the source panics
            let drawn = self.source.poll_candidate(cx);
            self.source_over = matches!(drawn, Poll::Ready(None));
            match drawn {
                Poll::Ready(candidate) => self.candidate = candidate,
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(self.candidate.is_some())
    }

    /// Nothing is due at a known time.
    fn wait<V>(&mut self) -> Poll<V> {
        Pin::new(&mut self.timer).disarm();
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

    /// A failure counts: see [`Stagger::failed`].
    pub(crate) fn failed(&mut self, place: usize) {
        self.stagger.failed(place);
    }

    /// Makes the next attempt due if nothing runs.
    pub(crate) fn start_if_idle(&mut self) {
        if self.attempts.len() == 0 {
            self.stagger.make_due();
        }
    }
}

/// Reads the clock. The first reading of a race is when it began.
fn read<T: Timer>(timer: &T, began: &mut Option<Moment>) -> Moment {
    let now = timer.now();
    began.get_or_insert(now);
    now
}

impl<S: Source, T: Timer + Unpin, P: Policy> Stream for Race<S, T, P> {
    type Item = (S::Arg, S::Output);

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut()
            .poll_finished(cx)
            .map(|done| done.map(|done| (done.arg, done.output)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let in_hand = self.attempts.len() + usize::from(self.candidate.is_some());
        let (lower, upper) = match self.source_over {
            true => (0, Some(0)),
            false => self.source.size_hint(),
        };
        let upper = upper.and_then(|upper| upper.checked_add(in_hand));
        (lower.saturating_add(in_hand), upper)
    }
}

impl<S: Source, T: Timer + Unpin, P: Policy> FusedStream for Race<S, T, P> {
    fn is_terminated(&self) -> bool {
        self.ended
    }
}

impl<S: Source, T, P: Policy> fmt::Debug for Race<S, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Race")
            .field("started", &self.stagger.starts())
            .field("running", &self.attempts.len())
            .field("source_over", &self.source_over)
            .finish_non_exhaustive()
    }
}
