//! The result-aware finishers of a race that end with one winner.

use super::{By, Decision, Judge, OkWins, OkWinsBy, One, Verdict};
use crate::{
    Hook, Policy, Timer,
    attempts::AttemptSet,
    race::{GenericRace, Placement},
    source::Source,
};

// The compiler quotes the lines of these bounds for a closure that borrows its argument.
impl<K, S, T, P, H> GenericRace<K, S, T, P, H>
where
    K: Placement,
    K::Set<S::Attempt, (S::Arg, usize)>: AttemptSet<S::Attempt, (S::Arg, usize)>,
    S: Source, // async |arg: &A| in Race::new? Race::of(policy, args.into_iter().map(async |arg| ..))
    T: Timer + Unpin,
    P: Policy,
    H: Hook,
{
    /// Resolves to `Result<Won<Arg, V>, RaceError<Arg, E>>`: the first `Ok`, or every failure. The
    /// other attempts are cancelled. An [`InlineRace`](crate::InlineRace) keeps the latest
    /// failures: its error is an [`InlineRaceError`](crate::InlineRaceError).
    ///
    /// When the latest attempt has failed, or no attempt is running, the next one starts at once;
    /// see [`on_failure`](Self::on_failure) and [`backoff`](Self::backoff).
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let connect = |server: &&str| {
    /// #     let (sleep, is_up) = (clock.sleep(ms(5)), *server == "two");
    /// #     async move { sleep.await; if is_up { Ok(7) } else { Err("refused") } }
    /// # };
    /// let race = Race::at(clock.timer()).new(ms(50), connect, ["one", "two", "three"]);
    /// let won = clock.run(race.first_ok())??;
    /// assert_eq!((won.arg, won.index, won.elapsed), ("two", 1, ms(10)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn first_ok<V, E>(self) -> Decision<Self, OkWins, One, K::Failures<S::Arg, E>>
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
    /// # use race_core::{Race, RaceError, Verdict, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let attempts = [io::ErrorKind::PermissionDenied, io::ErrorKind::Other]
    /// #     .map(|kind| async move { Err::<(), _>(io::Error::from(kind)) });
    /// let race = Race::at(clock.timer()).of(ms(50), attempts);
    /// let fatal = race.first_ok_by(|error| match error.kind() {
    ///     io::ErrorKind::PermissionDenied => Verdict::Fatal,
    ///     _ => Verdict::Retryable,
    /// });
    /// assert!(matches!(clock.run(fatal)?, Err(RaceError::Fatal { .. })));
    /// # Ok::<(), race_core::test::Deadlock>(())
    /// ```
    pub fn first_ok_by<V, E, C>(
        self,
        classify: C,
    ) -> Decision<Self, OkWinsBy<C>, One, K::Failures<S::Arg, E>>
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
    /// # use race_core::{Race, Verdict, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let attempts = [503, 200].map(|status| async move { status });
    /// let race = Race::at(clock.timer()).of(ms(50), attempts);
    /// let won = clock.run(race.first_by(|status| match status {
    ///     200..300 => Verdict::Accept,
    ///     _ => Verdict::Retryable,
    /// }))??;
    /// assert_eq!(won.output, 200);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(clippy::type_complexity, reason = "the parts of a decision")]
    pub fn first_by<C>(
        self,
        classify: C,
    ) -> Decision<Self, By<C>, One, K::Failures<S::Arg, S::Output>>
    where
        C: FnMut(&S::Output) -> Verdict,
    {
        Decision::new(self, By(classify), One)
    }
}

impl<K: Placement, S: Source, T, P, H> GenericRace<K, S, T, P, H> {
    /// Like `first_by`, for a classifier whose type has a name, and for any placement.
    #[doc(hidden)]
    #[expect(clippy::type_complexity, reason = "the parts of a decision")]
    pub fn first_judged<J: Judge<S::Output>>(
        self,
        judge: J,
    ) -> Decision<Self, J, One, K::Failures<S::Arg, J::Error>> {
        Decision::new(self, judge, One)
    }
}
