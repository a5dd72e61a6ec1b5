use core::{
    fmt,
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::{FusedStream, Stream};

use super::InlineAttempts;
use crate::{
    Fixed, Policy, Timer,
    course::Course,
    racing::{Parts, Racing},
    rules::rules,
    source::{Args, Arrivals, Of, Source},
};

/// A race with room for `N` running attempts, without an allocator.
///
/// It makes the promises of `Race` (feature `alloc`), but for these: when `N` run the next start
/// waits until one has finished, as with [`max_in_flight`](Self::max_in_flight); whenever it is
/// polled, all that run are, and they take turns in being first; and it must be pinned, since the
/// attempts live in it: `race.as_mut().next()`.
///
/// ```
/// use core::{pin::pin, time::Duration};
/// use race_core::InlineRace;
/// # use race_core::VirtualClock;
///
/// # let clock = VirtualClock::new();
/// # let timer = clock.timer();
/// # clock.run(async {
/// let attempts = [30, 20, 10].map(|number| async move { number });
/// let mut race = pin!(InlineRace::<2, _, _>::of_with(timer, Duration::ZERO, attempts));
/// assert_eq!(race.as_mut().next().await, Some((0, 30)));
/// # }).unwrap();
/// ```
pub struct InlineRace<const N: usize, S, T, P = Fixed>
where
    S: Source,
{
    /// Pinned with the race. First, as they may use what the source's function owns.
    attempts: InlineAttempts<S::Attempt, (S::Arg, usize), N>,
    course: Course<S, T, P>,
}

impl<const N: usize, I, T> InlineRace<N, Of<I>, T>
where
    I: Iterator<Item: Future>,
    T: Timer + Unpin,
{
    /// Races the futures of an iterator, `step` apart. The argument of each is its place there. They are
    /// taken on demand, so it may be endless. As `Race::of_with`.
    pub fn of_with(timer: T, step: Duration, attempts: impl IntoIterator<IntoIter = I>) -> Self {
        Self::from_source(timer, step, Of::new(attempts.into_iter()))
    }
}

impl<const N: usize, I, R, F, T> InlineRace<N, Args<I, R>, T>
where
    I: Iterator,
    R: FnMut(&I::Item) -> F,
    F: Future,
    T: Timer + Unpin,
{
    /// Races `run(&arg)` for each argument, `step` apart, and gives the argument back with the output.
    /// As `Race::new_with`.
    pub fn new_with(
        timer: T,
        step: Duration,
        run: R,
        args: impl IntoIterator<IntoIter = I>,
    ) -> Self {
        Self::from_source(timer, step, Args::new(args.into_iter(), run))
    }
}

impl<const N: usize, A, R, F, T> InlineRace<N, Arrivals<A, R>, T>
where
    A: Stream + Unpin,
    R: FnMut(&A::Item) -> F,
    F: Future,
    T: Timer + Unpin,
{
    /// Races `run(&arg)` for each argument of a stream, no closer than `step` apart. As
    /// `Race::from_stream_with`.
    pub fn from_stream_with(timer: T, step: Duration, run: R, args: A) -> Self {
        Self::from_source(timer, step, Arrivals::new(args, run))
    }
}

impl<const N: usize, S: Source, T: Timer + Unpin> InlineRace<N, S, T> {
    /// Races the candidates of a source of your own. Room for no attempt does not compile.
    pub fn from_source(timer: T, step: Duration, source: S) -> Self {
        Self {
            attempts: InlineAttempts::new(),
            course: Course::new(timer, step, source),
        }
    }
}

rules! { [const N: usize, S: Source,] InlineRace<N, S, }

impl<const N: usize, S: Source, T, P: Policy> InlineRace<N, S, T, P> {
    fn course_mut(&mut self) -> &mut Course<S, T, P> {
        &mut self.course
    }

    fn map_policy<Q: Policy>(self, map: impl FnOnce(P) -> Q) -> InlineRace<N, S, T, Q> {
        InlineRace {
            attempts: self.attempts,
            course: self.course.map_policy(map),
        }
    }

    /// How many attempts run.
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

impl<const N: usize, S: Source, T: Timer + Unpin, P: Policy> InlineRace<N, S, T, P> {
    /// The next completion: the argument and its output. `None` once all are done.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub fn next(mut self: Pin<&mut Self>) -> impl Future<Output = Option<(S::Arg, S::Output)>> {
        poll_fn(move |cx| self.as_mut().poll_next(cx))
    }
}

impl<const N: usize, S: Source, T: Timer + Unpin, P: Policy> Racing for InlineRace<N, S, T, P> {
    type Source = S;
    type Timer = T;
    type Policy = P;
    type Attempts = InlineAttempts<S::Attempt, (S::Arg, usize), N>;

    fn parts(self: Pin<&mut Self>) -> Parts<'_, Self> {
        // SAFETY: only the attempts are pinned with the race; they are handed out pinned.
        unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut this.attempts), &mut this.course)
        }
    }
}

impl<const N: usize, S: Source, T: Timer + Unpin, P: Policy> Stream for InlineRace<N, S, T, P> {
    type Item = (S::Arg, S::Output);

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let (running, course) = self.parts();
        course.poll_item(running, cx)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.course.size_hint(self.len())
    }
}

impl<const N: usize, S: Source, T: Timer + Unpin, P: Policy> FusedStream
    for InlineRace<N, S, T, P>
{
    fn is_terminated(&self) -> bool {
        self.course.ended
    }
}

impl<const N: usize, S: Source, T, P: Policy> fmt::Debug for InlineRace<N, S, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InlineRace")
            .field("running", &self.len())
            .field("course", &self.course)
            .finish()
    }
}
