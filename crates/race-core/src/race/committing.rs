//! Constructors of races whose attempts have handles.

use super::{GenericRace, Placement, RaceAt};
use crate::{AttemptHandle, Policy, Timer, policy::IntoPolicy, source::Committing};

// The compiler quotes the lines of these bounds to users who race without a timer.
impl<K, I, R, X, F, T, P, H> GenericRace<K, Committing<I, R, X, F>, T, P, H>
where
    K: Placement,
    I: Iterator<Item = X>,
    R: FnMut(&X, AttemptHandle) -> F,
    F: Future,
    T: Timer + Default + Unpin, // use race::Race or an adapter's, such as race_tokio::Race, else Race::at(timer).committing(..)
    P: Policy,
{
    /// Races `run(&arg, handle)` for each argument, as [`new`](Self::new) does. By its
    /// [`AttemptHandle`] an attempt reports progress, and commits before it is finished: the race
    /// ends for it, and only this attempt runs on.
    ///
    /// ```ignore
    /// let race = race_tokio::Race::committing(
    ///     Duration::from_millis(250),
    ///     |&server, mut attempt| async move {
    ///         let mut events = subscribe(server).await?;
    ///         attempt.progress(); // connected: the next server gets another 250 ms to wait
    ///         let first = events.next().await.ok_or(Error::Empty)?;
    ///         attempt.commit().await; // the other attempts are dropped here
    ///         Ok((first, events))
    ///     },
    ///     servers,
    /// );
    /// ```
    #[inline]
    pub fn committing<D>(policy: D, run: R, args: impl IntoIterator<IntoIter = I>) -> Self
    where
        D: IntoPolicy<T, Policy = P, Hooks = H>,
    {
        GenericRace::at(T::default()).committing(policy, run, args)
    }
}

impl<K: Placement, T: Timer + Unpin> RaceAt<K, T> {
    /// Races `run(&arg, handle)` for each argument, as
    /// [`Race::committing`](GenericRace::committing) does.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{AttemptHandle, Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// let run = |&latency: &u64, mut attempt: AttemptHandle| {
    ///     let (headers, body) = (clock.sleep(ms(latency)), clock.sleep(ms(200)));
    ///     async move {
    ///         headers.await;
    ///         attempt.commit().await;
    ///         body.await;
    ///     }
    /// };
    /// let race = Race::at(clock.timer()).committing(ms(50), run, [100, 20]);
    /// assert_eq!(clock.run(race.first())?.map(|won| won.arg), Some(20));
    /// # Ok::<(), race_core::test::Deadlock>(())
    /// ```
    #[inline]
    pub fn committing<D, I, R, X, F, P, H>(
        self,
        policy: D,
        run: R,
        args: impl IntoIterator<IntoIter = I>,
    ) -> GenericRace<K, Committing<I, R, X, F>, T, P, H>
    where
        D: IntoPolicy<T, Policy = P, Hooks = H>,
        I: Iterator<Item = X>,
        R: FnMut(&X, AttemptHandle) -> F,
        F: Future,
        P: Policy,
    {
        self.from_source(policy, Committing::new(args.into_iter(), run))
    }
}
