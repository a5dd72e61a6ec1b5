//! A race as a stream of completions.

use core::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::{FusedStream, Stream};

use super::{GenericRace, Inline, Placement, Schedule, Step, timeouts::Expiries};
#[cfg(feature = "alloc")]
use super::{Heap, OneWaker};
use crate::{Hook, Policy, Timer, attempts::AttemptSet, observe::EventKind, source::Source};

/// The number of attempts that time out, and of candidates that are taken back, in one poll before
/// it yields to its executor.
const STEPS_PER_POLL: usize = 32;

/// An attempt that ran to its end.
pub(crate) struct Finished<A, O> {
    pub(crate) index: usize,
    pub(crate) arg: A,
    pub(crate) output: O,
}

impl<S: Source, T: Timer + Unpin, P: Policy, H: Hook, Q: Expiries> Schedule<S, T, P, H, Q> {
    /// Returns the next completion; `None` at the end of the race. Finished attempts are reported
    /// as `kind`.
    #[inline]
    pub(crate) fn poll_finished<A>(
        &mut self,
        mut set: Pin<&mut A>,
        kind: EventKind,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Finished<S::Arg, S::Output>>>
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        if self.ended && set.len() > 0 {
            self.cancel(set); // goes on after a panic in it
            return Poll::Ready(None);
        }
        for _ in 0..STEPS_PER_POLL {
            let Poll::Ready(step) = self.poll_step(set.as_mut(), cx) else {
                return Poll::Pending;
            };
            match step {
                Step::Finished { index, arg, output } => {
                    if kind == EventKind::Finished {
                        self.begin_waiting_for_consumer();
                    } else if !self.claim(index) {
                        continue; // another attempt has just committed on another thread
                    }
                    self.note_ended(index, kind);
                    return Poll::Ready(Some(Finished { index, arg, output }));
                }
                Step::TakenBack => {}
                Step::TimedOut { index, .. } => self.note_ended(index, EventKind::TimedOut),
                Step::Deadline => {
                    self.cancel(set);
                    return Poll::Ready(None);
                }
                Step::Exhausted => return Poll::Ready(None),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Reads the clock for the delay and the deadline before the consumer gets an output, because
    /// its next poll may come much later. The delay after a first attempt that was ready at once
    /// counts from that poll.
    #[inline]
    fn begin_waiting_for_consumer(&mut self) {
        if self.stagger.awaits_clock() && self.stagger.starts() > 1 && self.supply.may_start() {
            self.clock();
        }
        self.begin_deadline();
    }

    /// Cancels all attempts and ends the race.
    #[cold]
    #[inline(never)]
    fn cancel<A>(&mut self, mut set: Pin<&mut A>)
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        self.stop();
        self.ended = true;
        self.timeouts.clear();
        self.disarm();
        while let Some((_, index)) = set.as_mut().remove(|_| true) {
            self.note_ended(index, EventKind::Cancelled);
        }
    }
}

impl<K, S, T, P, H> GenericRace<K, S, T, P, H>
where
    K: Placement,
    K::Set<S::Attempt, (S::Arg, usize)>: AttemptSet<S::Attempt, (S::Arg, usize)>,
    S: Source,
{
    /// Returns the number of running attempts, and of finished ones that were not handed out.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// let attempts = [20, 100].map(|latency| clock.sleep(ms(latency)));
    /// let mut race = Race::at(clock.timer()).of(ms(0), attempts);
    /// clock.run(race.next())?;
    /// assert_eq!(race.len(), 1);
    /// # Ok::<(), race_core::test::Deadlock>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.attempts.len()
    }

    /// Returns whether nothing is running, such as before the first poll.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// let race = Race::at(clock.timer()).of(ms(0), [clock.sleep(ms(20))]);
    /// assert!(race.is_empty());
    /// # Ok::<(), race_core::test::Deadlock>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(feature = "alloc")]
impl<S, T, P, H> GenericRace<Heap, S, T, P, H>
where
    S: Source,
    T: Timer + Unpin,
    P: Policy,
    H: Hook,
{
    /// Resolves to the next completion, `Option<(Arg, Output)>`; `None` when the race has ended.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # clock.run(async {
    /// let ask = |&latency: &u64| clock.sleep(ms(latency));
    /// let mut race = Race::at(clock.timer()).new(ms(50), ask, [100, 20]);
    /// assert_eq!(race.next().await, Some((20, ())));
    /// assert_eq!(race.next().await, Some((100, ())));
    /// assert_eq!(race.next().await, None);
    /// # }).unwrap();
    /// ```
    #[expect(
        clippy::should_implement_trait,
        reason = "the `next` of a stream, as in `StreamExt`"
    )]
    pub fn next(&mut self) -> NextAttempt<'_, Self> {
        NextAttempt::new(Pin::new(self))
    }
}

#[cfg(feature = "alloc")]
impl<S, T, P, H> GenericRace<OneWaker, S, T, P, H>
where
    S: Source,
    T: Timer + Unpin,
    P: Policy,
    H: Hook,
{
    /// Resolves to the next completion, `Option<(Arg, Output)>`; `None` when the race has ended.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{GenericRace, placement::OneWaker, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// let attempts = [20, 10].map(|latency| clock.sleep(ms(latency)));
    /// let mut race = GenericRace::<OneWaker, _, _>::at(clock.timer()).of(ms(0), attempts);
    /// assert_eq!(clock.run(race.next())?, Some((1, ())));
    /// # Ok::<(), race_core::test::Deadlock>(())
    /// ```
    #[expect(
        clippy::should_implement_trait,
        reason = "the `next` of a stream, as in `StreamExt`"
    )]
    pub fn next(&mut self) -> NextAttempt<'_, Self> {
        NextAttempt::new(Pin::new(self))
    }
}

impl<S, T, P, H, const N: usize> GenericRace<Inline<N>, S, T, P, H>
where
    S: Source,
    T: Timer + Unpin,
    P: Policy,
    H: Hook,
{
    /// Resolves to the next completion, `Option<(Arg, Output)>`; `None` when the race has ended.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    ///
    /// ```
    /// # use std::{pin::pin, time::Duration};
    /// # use race_core::{InlineRace, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// let attempts = [20, 10].map(|latency| clock.sleep(ms(latency)));
    /// let mut race = pin!(InlineRace::<2, _, _>::at(clock.timer()).of(ms(0), attempts));
    /// assert_eq!(clock.run(race.as_mut().next())?, Some((1, ())));
    /// # Ok::<(), race_core::test::Deadlock>(())
    /// ```
    pub fn next(self: Pin<&mut Self>) -> NextAttempt<'_, Self> {
        NextAttempt::new(self)
    }
}

impl<K, S, T, P, H> Stream for GenericRace<K, S, T, P, H>
where
    K: Placement,
    K::Set<S::Attempt, (S::Arg, usize)>: AttemptSet<S::Attempt, (S::Arg, usize)>,
    S: Source,
    T: Timer + Unpin,
    P: Policy,
    H: Hook,
{
    type Item = (S::Arg, S::Output);

    #[inline]
    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let (attempts, schedule) = self.parts();
        let polled = schedule.poll_finished(attempts, EventKind::Finished, cx);
        polled.map(|finished| finished.map(|Finished { arg, output, .. }| (arg, output)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.schedule.size_hint(self.len())
    }
}

impl<K, S, T, P, H> FusedStream for GenericRace<K, S, T, P, H>
where
    K: Placement,
    K::Set<S::Attempt, (S::Arg, usize)>: AttemptSet<S::Attempt, (S::Arg, usize)>,
    S: Source,
    T: Timer + Unpin,
    P: Policy,
    H: Hook,
{
    fn is_terminated(&self) -> bool {
        self.schedule.has_ended()
    }
}

/// The future of `next`.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct NextAttempt<'a, R> {
    race: Pin<&'a mut R>,
}

impl<'a, R> NextAttempt<'a, R> {
    fn new(race: Pin<&'a mut R>) -> Self {
        Self { race }
    }
}

impl<R: Stream> Future for NextAttempt<'_, R> {
    type Output = Option<R::Item>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.race.as_mut().poll_next(cx)
    }
}
