//! Retries that hand a context from attempt to attempt.

use core::time::Duration;

use super::{GenericRace, Placement, RaceAt, RaceOptions, Schedule};
use crate::{
    Hook, Policy, Timer,
    outcome::{OkWins, OkWinsBy, Retrying, Verdict},
    policy::{Gate, IntoPolicy, Permit, RaceState},
    race::Expiries,
    source::Contexts,
};

/// A retry over a context, made by [`Race::retry_with`](GenericRace::retry_with): one attempt at a
/// time, each of which has the context and returns it with its result.
///
/// Its options are those of a race that make sense for one attempt at a time. A finisher,
/// [`first_ok`](Self::first_ok) or [`first_ok_by`](Self::first_ok_by), turns it into a future. If
/// attempts need only a shared reference, use [`Race::from_fn`](GenericRace::from_fn), which also
/// retries.
#[derive(Debug)]
#[must_use = "a retry does nothing until a finisher is awaited"]
pub struct Retry<R> {
    race: R,
}

impl<K, C, R, F, T, P, H> GenericRace<K, Contexts<C, R, F>, T, P, H>
where
    K: Placement,
    R: FnMut(C) -> F,
    F: Future,
    H: Hook,
    T: Timer + Default + Unpin, // use race::Race or an adapter's, such as race_tokio::Race, else Race::at(timer).retry_with(..)
    P: Policy,
{
    /// Retries `run(context)` until it succeeds. Each attempt owns the context while it runs, and
    /// returns it with its result, as `(context, result)`: a connection, or a `&mut` of one. The
    /// future can be spawned if its parts are `Send`.
    ///
    /// A [`Backoff`](crate::Backoff) as `policy` gives the pause after each failure. Other policies
    /// have no pause: the next attempt starts as soon as one fails. A retry has no limit by default:
    /// set [`max_attempts`](Retry::max_attempts) or a [`deadline`](Retry::deadline).
    ///
    /// Leave out the type of the parameter of a closure if the context is a reference.
    ///
    /// ```ignore
    /// let pauses = Backoff::new(Duration::from_millis(100)).jitter();
    /// let retry = race_tokio::Race::retry_with(pauses, &mut connection, async |connection| {
    ///     let answer = connection.ask().await;
    ///     (connection, answer)
    /// });
    /// let (_connection, answer) = retry.max_attempts(5).first_ok().await;
    /// ```
    ///
    /// # Lost contexts
    ///
    /// An attempt that times out is cancelled, and its context is dropped with it. Then no further
    /// attempt starts: the retry fails with the failures so far, the timeout being the last. The
    /// same holds after a panic, and at the deadline. To retry after a timeout, limit the work inside
    /// `run`, and return the context.
    #[inline]
    pub fn retry_with<D>(policy: D, context: C, run: R) -> Retry<Self>
    where
        D: IntoPolicy<T, Policy = P, Hooks = H>,
    {
        GenericRace::at(T::default()).retry_with(policy, context, run)
    }
}

impl<K: Placement, T: Timer + Unpin> RaceAt<K, T> {
    /// Retries `run(context)` until it succeeds, as
    /// [`Race::retry_with`](GenericRace::retry_with) does.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Backoff, Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// let mut log = vec![];
    /// let retry = Race::at(clock.timer()).retry_with(Backoff::new(ms(10)), &mut log, async |log| {
    ///     log.push(clock.elapsed());
    ///     let result = if log.len() < 3 { Err("busy") } else { Ok("done") };
    ///     (log, result)
    /// });
    /// let (_log, result) = clock.run(retry.max_attempts(5).first_ok())?;
    /// assert_eq!(result.unwrap().output, "done");
    /// assert_eq!(log, [ms(0), ms(10), ms(30)]);
    /// # Ok::<(), race_core::test::Deadlock>(())
    /// ```
    #[expect(clippy::type_complexity, reason = "the parts of a race")]
    #[inline]
    pub fn retry_with<D, C, R, F, P, H>(
        self,
        policy: D,
        context: C,
        run: R,
    ) -> Retry<GenericRace<K, Contexts<C, R, F>, T, P, H>>
    where
        D: IntoPolicy<T, Policy = P, Hooks = H>,
        R: FnMut(C) -> F,
        F: Future,
        P: Policy,
        H: Hook,
    {
        let race = self.from_source(policy, Contexts::new(context, run));
        Retry {
            race: race.max_in_flight(1),
        }
    }
}

impl<K, C, R, F, T, P, H> Retry<GenericRace<K, Contexts<C, R, F>, T, P, H>>
where
    K: Placement,
    R: FnMut(C) -> F,
    F: Future,
    T: Timer + Unpin,
    P: Policy,
    H: Hook,
{
    /// Limits how many attempts start. Default: no limit. With 0 nothing may start, so the retry
    /// fails at once.
    pub fn max_attempts(self, max: usize) -> Self {
        self.map(|race| race.max_attempts(max))
    }

    /// Limits how long each attempt may run. An attempt that exceeds it is cancelled, its context is
    /// dropped, and no other one starts. Default: none.
    pub fn attempt_timeout(self, timeout: Duration) -> Self {
        self.map(|race| race.attempt_timeout(timeout))
    }

    /// Limits how long the retry may take, counted from its first poll. An attempt that runs then is
    /// cancelled, and its context is dropped. Default: none.
    pub fn deadline(self, deadline: Duration) -> Self {
        self.map(|race| race.deadline(deadline))
    }

    /// Sets the minimum time between two starts. Default: zero.
    pub fn min_gap(self, gap: Duration) -> Self {
        self.map(|race| race.min_gap(gap))
    }

    /// Applies the options that are set in `options` and that a retry has: `max_attempts`,
    /// `min_gap`, `attempt_timeout` and `deadline`. It ignores the others, which have no use for one
    /// attempt at a time.
    pub fn options(self, options: &RaceOptions) -> Self {
        let mut of_retry = options.clone();
        (
            of_retry.max_in_flight,
            of_retry.catch_up,
            of_retry.on_failure,
        ) = (None, None, None);
        self.map(|race| race.options(&of_retry))
    }

    /// Asks `gate` before each start except the first, when the start is due; see
    /// [`GenericRace::gate`].
    #[expect(clippy::type_complexity, reason = "the parts of a race")]
    pub fn gate<G, A>(
        self,
        gate: G,
    ) -> Retry<GenericRace<K, Contexts<C, R, F>, T, P, (H, Gate<G, A>)>>
    where
        G: FnMut(&RaceState<'_>) -> A,
        A: Into<Permit>,
    {
        self.map(|race| race.gate(gate))
    }

    /// Resolves to the context, and to `Result<Won<usize, V>, RaceError<usize, E>>`: the first `Ok`,
    /// or every failure. The context is `None` if an attempt lost it; see
    /// [`retry_with`](GenericRace::retry_with).
    #[expect(clippy::type_complexity, reason = "the parts of a race")]
    pub fn first_ok<V, E>(
        self,
    ) -> Retrying<GenericRace<K, Contexts<C, R, F>, T, P, H>, OkWins, K::Failures<usize, E>>
    where
        F: Future<Output = (C, Result<V, E>)>,
    {
        Retrying::new(self.race, OkWins)
    }

    /// Like [`first_ok`](Self::first_ok), and `classify` decides what each error means: retry, retry
    /// later, start no more, or fail.
    #[expect(clippy::type_complexity, reason = "the parts of a race")]
    pub fn first_ok_by<V, E, J>(
        self,
        classify: J,
    ) -> Retrying<GenericRace<K, Contexts<C, R, F>, T, P, H>, OkWinsBy<J>, K::Failures<usize, E>>
    where
        F: Future<Output = (C, Result<V, E>)>,
        J: FnMut(&E) -> Verdict,
    {
        Retrying::new(self.race, OkWinsBy(classify))
    }
}

impl<A> Retry<A> {
    fn map<B>(self, change: impl FnOnce(A) -> B) -> Retry<B> {
        Retry {
            race: change(self.race),
        }
    }
}

#[cfg(feature = "alloc")]
mod shared {
    use super::*;
    use crate::{
        observe::{Clock, Event, Observed, Observer, OnEvent},
        policy::IntoBudget,
    };

    #[expect(clippy::type_complexity, reason = "the parts of a race")]
    impl<K, C, R, F, T, P, H> Retry<GenericRace<K, Contexts<C, R, F>, T, P, H>>
    where
        K: Placement,
        R: FnMut(C) -> F,
        F: Future,
        T: Timer + Unpin,
        P: Policy,
        H: Hook,
    {
        /// Charges retries to a budget that has
        /// [`charge_failover`](crate::Budget::charge_failover); another budget charges hedges only,
        /// of which a retry has none. See [`GenericRace::budget`].
        pub fn budget<B: IntoBudget>(
            self,
            budget: B,
        ) -> Retry<GenericRace<K, Contexts<C, R, F>, T, P, (H, B::Hook)>> {
            self.map(|race| race.budget(budget))
        }

        /// Reports the events of the retry to an [`Observer`]; see [`GenericRace::observer`].
        pub fn observer<O: Observer>(
            self,
            observer: O,
        ) -> Retry<GenericRace<K, Contexts<C, R, F>, T, P, (H, Observed<O, T>)>>
        where
            T: Clone,
        {
            self.map(|race| race.observer(observer))
        }

        /// Like [`observer`](Self::observer), with the times of a clock of your own.
        pub fn observer_with<O: Observer, N: Clock>(
            self,
            clock: N,
            observer: O,
        ) -> Retry<GenericRace<K, Contexts<C, R, F>, T, P, (H, Observed<O, N>)>> {
            self.map(|race| race.observer_with(clock, observer))
        }

        /// Calls `on_event` for each event of the retry.
        pub fn on_event<N: FnMut(Event)>(
            self,
            on_event: N,
        ) -> Retry<GenericRace<K, Contexts<C, R, F>, T, P, (H, Observed<OnEvent<N>, T>)>>
        where
            T: Clone,
        {
            self.map(|race| race.on_event(on_event))
        }
    }
}

impl<C, R, F, T, P: Policy, H, Q: Expiries> Schedule<Contexts<C, R, F>, T, P, H, Q> {
    /// The place of the context. It is empty while an attempt has the context.
    pub(crate) fn context_mut(&mut self) -> &mut Option<C> {
        self.supply.source.context_mut()
    }
}
