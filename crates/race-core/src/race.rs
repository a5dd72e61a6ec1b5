use core::{
    fmt,
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::{FusedStream, Stream};

use crate::{
    Attempts, Decision, Fixed, Policy, Timer, Verdict,
    course::Course,
    ends::{By, Drain, OkWins},
    racing::{Parts, Racing},
    rules::rules,
    source::{Args, Arrivals, Of, Source},
};

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
/// Polling it panics when an attempt, the function that makes attempts, the source, the policy or the
/// timer panics. Whoever catches that may poll on: a panicked attempt is gone and the others are
/// delivered; the candidate that was about to start is lost; a panicked source is at its end.
///
/// # Cancel safety
///
/// `next` loses nothing when it is dropped before it is ready: what has finished stays with the
/// race until it is handed out.
pub struct Race<S: Source, T, P = Fixed> {
    // First, as they may use what the source's function owns.
    attempts: Attempts<S::Attempt, (S::Arg, usize)>,
    course: Course<S, T, P>,
}

/// Nothing in a race is pinned in place: the running attempts are on the heap.
impl<S: Source, T, P> Unpin for Race<S, T, P> {}

// The compiler quotes the lines of these bounds at whoever races without a timer.
impl<I, T> Race<Of<I>, T>
where
    I: Iterator<Item: Future>,
    T: Timer + Default + Unpin, // use race::Race or an adapter's, such as race_tokio::Race, else of_with(timer, ..)
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
    T: Timer + Default + Unpin, // use race::Race or an adapter's, such as race_tokio::Race, else new_with(timer, ..)
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
    T: Timer + Default + Unpin, // use race::Race or an adapter's, such as race_tokio::Race, else from_stream_with(timer, ..)
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
            course: Course::new(timer, step, source),
        }
    }
}

rules! { [S: Source,] Race<S, }

impl<S: Source, T, P: Policy> Race<S, T, P> {
    fn course_mut(&mut self) -> &mut Course<S, T, P> {
        &mut self.course
    }

    fn map_policy<Q: Policy>(self, map: impl FnOnce(P) -> Q) -> Race<S, T, Q> {
        Race {
            attempts: self.attempts,
            course: self.course.map_policy(map),
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

    /// As [`first_ok`](Self::first_ok), but those that run in the end are not cancelled: the race comes back
    /// with the answer. It starts no more, and is the stream of what still finishes.
    ///
    /// For attempts that must not be dropped halfway, such as those that hold a connection that is to go
    /// back to its pool; and no late success is lost. The race comes back with an error, too. Limits are for
    /// the answer, not for the draining. A candidate that was drawn and had not started is dropped.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, VirtualClock};
    /// # let clock = VirtualClock::new();
    /// # let ms = Duration::from_millis;
    /// # let connect = |&number: &u64| {
    /// #     let sleep = clock.sleep(ms(100 / number));
    /// #     async move { sleep.await; Ok::<_, std::io::Error>(number) }
    /// # };
    /// # let race = Race::new_with(clock.timer(), ms(0), connect, [1, 2, 4]);
    /// # let mut pool = Vec::new();
    /// # clock.run(async {
    /// let (answer, mut losers) = race.first_ok_then_drain().await;
    /// let connection = answer?.output;
    /// while let Some((_, late)) = losers.next().await {
    ///     pool.extend(late); // or in a task of its own
    /// }
    /// # assert_eq!((connection, pool), (4, vec![2, 1]));
    /// # Ok::<(), race_core::RaceError<u64, std::io::Error>>(())
    /// # }).unwrap().unwrap();
    /// ```
    #[must_use = "futures do nothing unless polled"]
    pub fn first_ok_then_drain<V, E>(self) -> Decision<Self, OkWins, Drain>
    where
        S: Source<Output = Result<V, E>>,
    {
        Decision::new(self, OkWins, Drain)
    }

    /// As [`first_by`](Self::first_by), and the race comes back, as with
    /// [`first_ok_then_drain`](Self::first_ok_then_drain).
    #[must_use = "futures do nothing unless polled"]
    pub fn first_by_then_drain<C>(self, classify: C) -> Decision<Self, By<C>, Drain>
    where
        C: FnMut(&S::Output) -> Verdict,
    {
        Decision::new(self, By(classify), Drain)
    }
}

impl<S: Source, T: Timer + Unpin, P: Policy> Racing for Race<S, T, P> {
    type Source = S;
    type Timer = T;
    type Policy = P;
    type Attempts = Attempts<S::Attempt, (S::Arg, usize)>;

    fn parts(self: Pin<&mut Self>) -> Parts<'_, Self> {
        let this = self.get_mut();
        (Pin::new(&mut this.attempts), &mut this.course)
    }
}

impl<S: Source, T: Timer + Unpin, P: Policy> Stream for Race<S, T, P> {
    type Item = (S::Arg, S::Output);

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let (running, course) = self.parts();
        course.poll_item(running, cx)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.course.size_hint(self.len())
    }
}

impl<S: Source, T: Timer + Unpin, P: Policy> FusedStream for Race<S, T, P> {
    fn is_terminated(&self) -> bool {
        self.course.ended
    }
}

impl<S: Source, T, P: Policy> fmt::Debug for Race<S, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Race")
            .field("running", &self.len())
            .field("course", &self.course)
            .finish()
    }
}
