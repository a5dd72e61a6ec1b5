//! The result-aware finishers of a race.

use super::{By, Decision, Judge, Many, OkWins, OkWinsBy, One, Verdict};
use crate::{
    Hook, Policy, Timer,
    attempts::AttemptSet,
    race::{GenericRace, Placement},
    source::Source,
};

impl<K, S, T, P, H> GenericRace<K, S, T, P, H>
where
    K: Placement,
    K::Set<S::Attempt, (S::Arg, usize)>: AttemptSet<S::Attempt, (S::Arg, usize)>,
    S: Source,
    T: Timer + Unpin,
    P: Policy,
    H: Hook,
{
    /// Resolves to `Result<Won<Arg, V>, RaceError<Arg, E>>`: the first `Ok`, or every failure. The
    /// other attempts are cancelled.
    ///
    /// When the latest attempt has failed, or no attempt is running, the next one starts at once;
    /// see [`on_failure`](Self::on_failure) and [`backoff`](Self::backoff).
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let connect = |server: &&str| {
    /// #     let (sleep, is_up) = (clock.sleep(ms(5)), *server == "two");
    /// #     async move { sleep.await; if is_up { Ok(7) } else { Err("refused") } }
    /// # };
    /// let race = Race::new_with(clock.timer(), ms(50), connect, ["one", "two", "three"]);
    /// let won = clock.run(race.first_ok())??;
    /// assert_eq!((won.arg, won.index, won.elapsed), ("two", 1, ms(10)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn first_ok<V, E>(self) -> Decision<Self, OkWins, One, S::Arg, E>
    where
        S: Source<Output = Result<V, E>>,
    {
        Decision::new(self, OkWins, One)
    }

    /// Resolves to `Result<Won<Arg, V>, RaceError<Arg, E>>`: like [`first_ok`](Self::first_ok), and
    /// `classify` decides what each error means: retry, retry later, start no more, or fail the
    /// race.
    ///
    /// Only an `Ok` wins: [`Verdict::Accept`] for an error means [`Verdict::Retryable`].
    ///
    /// ```
    /// # use std::{io, time::Duration};
    /// # use race_core::{Race, RaceError, Verdict, VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let attempts = [io::ErrorKind::PermissionDenied, io::ErrorKind::Other]
    /// #     .map(|kind| async move { Err::<(), _>(io::Error::from(kind)) });
    /// let race = Race::of_with(clock.timer(), ms(50), attempts);
    /// let fatal = race.first_ok_by(|error| match error.kind() {
    ///     io::ErrorKind::PermissionDenied => Verdict::Fatal,
    ///     _ => Verdict::Retryable,
    /// });
    /// assert!(matches!(clock.run(fatal)?, Err(RaceError::Fatal { .. })));
    /// # Ok::<(), race_core::Deadlock>(())
    /// ```
    pub fn first_ok_by<V, E, C>(self, classify: C) -> Decision<Self, OkWinsBy<C>, One, S::Arg, E>
    where
        S: Source<Output = Result<V, E>>,
        C: FnMut(&E) -> Verdict,
    {
        Decision::new(self, OkWinsBy(classify), One)
    }

    /// Resolves to `Result<Won<Arg, Output>, RaceError<Arg, Output>>`: the first output that
    /// `classify` accepts, for outputs of any type. Failures keep the whole output, so the error
    /// can be displayed only if the output can; for a `Result`, use
    /// [`first_ok_by`](Self::first_ok_by).
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, Verdict, VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let attempts = [503, 200].map(|status| async move { status });
    /// let race = Race::of_with(clock.timer(), ms(50), attempts);
    /// let won = clock.run(race.first_by(|status| match status {
    ///     200..300 => Verdict::Accept,
    ///     _ => Verdict::Retryable,
    /// }))??;
    /// assert_eq!(won.output, 200);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn first_by<C>(self, classify: C) -> Decision<Self, By<C>, One, S::Arg, S::Output>
    where
        C: FnMut(&S::Output) -> Verdict,
    {
        Decision::new(self, By(classify), One)
    }

    /// Resolves to `Result<Vec<Won<Arg, V>>, QuorumError<Arg, V, E>>`: the first `needed` attempts
    /// that are `Ok`, in the order in which they finish. The others are cancelled.
    ///
    /// It fails as soon as `needed` successes are out of reach. If the source does not know its
    /// length, such as a stream or a `filter`, the race draws one candidate ahead to notice the end
    /// of the source. With 0 it succeeds at once and starts nothing.
    ///
    /// Attempts are staggered as in any race. To start as many as needed at once, and more if they
    /// are slow, use [`Steps`](crate::Steps). A budget does not charge the first `needed` attempts.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, Steps, VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let write = |&replica: &u64| {
    /// #     let sleep = clock.sleep(ms(replica * 10));
    /// #     async move { sleep.await; Ok::<_, std::io::Error>(()) }
    /// # };
    /// // Two replicas at once, the third after 50 ms.
    /// let delays = Steps::new([0, 50].map(Duration::from_millis));
    /// let race = Race::new_with(clock.timer(), delays, write, [9, 2, 4]);
    /// let written = clock.run(race.quorum(2))??;
    /// assert_eq!([written[0].arg, written[1].arg], [2, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn quorum<V, E>(self, needed: usize) -> Decision<Self, OkWins, Many<S::Arg, V>, S::Arg, E>
    where
        S: Source<Output = Result<V, E>>,
    {
        self.quorum_of(needed, OkWins)
    }

    /// Resolves to `Result<Vec<Won<Arg, Output>>, QuorumError<Arg, Output, Output>>`: the first
    /// `needed` outputs that `classify` accepts. See [`quorum`](Self::quorum).
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, Verdict, VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let attempts = [200, 503, 204].map(|status| async move { status });
    /// let race = Race::of_with(clock.timer(), ms(0), attempts);
    /// let accepted = clock.run(race.quorum_by(2, |status| match status {
    ///     200..300 => Verdict::Accept,
    ///     _ => Verdict::Retryable,
    /// }))??;
    /// assert_eq!(accepted.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(clippy::type_complexity, reason = "the parts of a decision")]
    pub fn quorum_by<C>(
        self,
        needed: usize,
        classify: C,
    ) -> Decision<Self, By<C>, Many<S::Arg, S::Output>, S::Arg, S::Output>
    where
        C: FnMut(&S::Output) -> Verdict,
    {
        self.quorum_of(needed, By(classify))
    }

    fn quorum_of<J, V, E>(
        mut self,
        needed: usize,
        judge: J,
    ) -> Decision<Self, J, Many<S::Arg, V>, S::Arg, E> {
        self.schedule.set_needed(needed);
        Decision::new(self, judge, Many::new(needed))
    }
}

impl<K: Placement, S: Source, T, P, H> GenericRace<K, S, T, P, H> {
    /// Like `first_by`, for a classifier whose type has a name, and for any placement.
    #[doc(hidden)]
    pub fn first_judged<J: Judge<S::Output>>(
        self,
        judge: J,
    ) -> Decision<Self, J, One, S::Arg, J::Error> {
        Decision::new(self, judge, One)
    }
}
