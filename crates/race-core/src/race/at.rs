//! The constructors of a race whose timer is given.

use core::{fmt, marker::PhantomData};

use futures_core::Stream;

use super::{GenericRace, Placement, Schedule};
use crate::{
    Policy, Timer,
    policy::IntoPolicy,
    source::{Args, Arrivals, IntoAttempts, Of, Repeat, Source},
};

/// A race that has its timer, and still needs its candidates. Made by
/// [`Race::at`](GenericRace::at).
///
/// It has the constructors of a race, which take the same arguments.
#[must_use = "a race needs candidates: call `of`, `new` or another constructor"]
pub struct RaceAt<K, T> {
    timer: T,
    placement: PhantomData<fn() -> K>,
}

impl<K: Placement, T> GenericRace<K, Of<(), ()>, T> {
    /// Races on a timer of your own: `Race::at(timer).of(policy, futures)`, and so on.
    ///
    /// Without it, a constructor uses `T::default()`. An alias with a timer, such as
    /// `race_tokio::Race`, takes only values of that timer; use the `Race` of `race_core`, which is
    /// `race::core::Race`.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// let attempts = [100, 20].map(|latency| clock.sleep(ms(latency)));
    /// let race = Race::at(clock.timer()).of(ms(50), attempts);
    /// assert_eq!(clock.run(race.first())?.map(|won| won.arg), Some(1));
    /// # Ok::<(), race_core::test::Deadlock>(())
    /// ```
    #[inline]
    // The compiler quotes this line if the alias has another timer: use race::core::Race, or race_core::Race
    pub fn at(timer: T) -> RaceAt<K, T>
    where
        T: Timer + Unpin,
    {
        RaceAt {
            timer,
            placement: PhantomData,
        }
    }
}

impl<K: Placement, T: Timer + Unpin> RaceAt<K, T> {
    /// Races the futures of an iterator or a tuple, as [`Race::of`](GenericRace::of) does.
    #[inline]
    pub fn of<D, M, I, F, P, H>(
        self,
        policy: D,
        attempts: impl IntoAttempts<M, Attempts = I, Attempt = F>,
    ) -> GenericRace<K, Of<I, F>, T, P, H>
    where
        D: IntoPolicy<T, Policy = P, Hooks = H>,
        I: Iterator<Item = F>,
        F: Future,
        P: Policy,
    {
        self.from_source(policy, Of::new(attempts.into_attempts()))
    }

    /// Races `run(&arg)` for each argument, as [`Race::new`](GenericRace::new) does.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// let run = |&latency: &u64| clock.sleep(ms(latency));
    /// let race = Race::at(clock.timer()).new(ms(50), run, [100, 20]);
    /// assert_eq!(clock.run(race.first())?.map(|won| won.arg), Some(20));
    /// # Ok::<(), race_core::test::Deadlock>(())
    /// ```
    #[allow(
        clippy::new_ret_no_self,
        clippy::wrong_self_convention,
        reason = "the names of the constructors of a race"
    )]
    #[inline]
    pub fn new<D, I, R, X, F, P, H>(
        self,
        policy: D,
        run: R,
        args: impl IntoIterator<IntoIter = I>,
    ) -> GenericRace<K, Args<I, R, X, F>, T, P, H>
    where
        D: IntoPolicy<T, Policy = P, Hooks = H>,
        I: Iterator<Item = X>,
        R: FnMut(&X) -> F, // async closure? Race::of(policy, args.into_iter().map(async |arg| ..)), and capture by reference
        F: Future,
        P: Policy,
    {
        self.from_source(policy, Args::new(args.into_iter(), run))
    }

    /// Races `run(index)`, without end, as [`Race::from_fn`](GenericRace::from_fn) does.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// let run = |index| clock.sleep(ms([100, 20][index % 2]));
    /// let race = Race::at(clock.timer()).from_fn(ms(50), run).max_attempts(2);
    /// assert_eq!(clock.run(race.first())?.map(|won| won.index), Some(1));
    /// # Ok::<(), race_core::test::Deadlock>(())
    /// ```
    #[allow(
        clippy::wrong_self_convention,
        reason = "the names of the constructors of a race"
    )]
    #[inline]
    pub fn from_fn<D, R, F, P, H>(self, policy: D, run: R) -> GenericRace<K, Repeat<R, F>, T, P, H>
    where
        D: IntoPolicy<T, Policy = P, Hooks = H>,
        R: FnMut(usize) -> F, // async move closure? capture by reference: let value = &value;
        F: Future,
        P: Policy,
    {
        self.from_source(policy, Repeat::new(run))
    }

    /// Races `run(&arg)` for each argument of a stream, as
    /// [`Race::from_stream`](GenericRace::from_stream) does.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// let arrivals = futures::stream::iter([100, 20]);
    /// let run = |&latency: &u64| clock.sleep(ms(latency));
    /// let race = Race::at(clock.timer()).from_stream(ms(50), run, arrivals);
    /// assert_eq!(clock.run(race.first())?.map(|won| won.arg), Some(20));
    /// # Ok::<(), race_core::test::Deadlock>(())
    /// ```
    #[allow(
        clippy::wrong_self_convention,
        reason = "the names of the constructors of a race"
    )]
    #[inline]
    pub fn from_stream<D, I, R, X, F, P, H>(
        self,
        policy: D,
        run: R,
        args: I,
    ) -> GenericRace<K, Arrivals<I, R, X, F>, T, P, H>
    where
        D: IntoPolicy<T, Policy = P, Hooks = H>,
        I: Stream<Item = X> + Unpin,
        R: FnMut(&X) -> F, // async closure? Race::of(policy, args.into_iter().map(async |arg| ..)), and capture by reference
        F: Future,
        P: Policy,
    {
        self.from_source(policy, Arrivals::new(args, run))
    }

    /// Races the candidates of a [`Source`] of your own, as
    /// [`Race::from_source`](GenericRace::from_source) does.
    #[allow(
        clippy::wrong_self_convention,
        reason = "the names of the constructors of a race"
    )]
    #[inline]
    pub fn from_source<D, S, P, H>(self, policy: D, source: S) -> GenericRace<K, S, T, P, H>
    where
        D: IntoPolicy<T, Policy = P, Hooks = H>,
        S: Source,
        P: Policy,
    {
        let (policy, hooks) = policy.into_policy(&self.timer);
        GenericRace {
            attempts: K::empty_set(),
            schedule: Schedule::new(self.timer, policy, hooks, source),
        }
    }
}

impl<K, T: fmt::Debug> fmt::Debug for RaceAt<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RaceAt").field(&self.timer).finish()
    }
}
