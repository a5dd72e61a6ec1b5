//! Constructors of races whose attempts have handles.

use super::{GenericRace, Placement};
use crate::{
    AttemptHandle, IntoPolicy, Policy, Timer,
    source::{Committing, CommittingFn},
};

// The compiler quotes the lines of these bounds to users who race without a timer.
impl<K, I, R, X, F, T, P, H> GenericRace<K, Committing<I, R, X, F>, T, P, H>
where
    K: Placement,
    I: Iterator<Item = X>,
    R: FnMut(&X, AttemptHandle) -> F,
    F: Future,
    T: Timer + Default + Unpin, // use race::Race or an adapter's, such as race_tokio::Race, else committing_with(timer, ..)
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
        Self::committing_with(T::default(), policy, run, args)
    }
}

impl<K, R, F, T, P, H> GenericRace<K, CommittingFn<R, F>, T, P, H>
where
    K: Placement,
    R: FnMut(AttemptHandle) -> F,
    F: Future,
    T: Timer + Default + Unpin, // use race::Race or an adapter's, such as race_tokio::Race, else committing_fn_with(timer, ..)
    P: Policy,
{
    /// Races `run(handle)` without end, as [`from_fn`](Self::from_fn) does; the handle knows the
    /// index of the attempt. See [`AttemptHandle`].
    ///
    /// ```ignore
    /// let race = race_tokio::Race::committing_fn(delay, |mut attempt| async move {
    ///     let response = request(pool.pick(attempt.index())).await?;
    ///     attempt.commit().await;
    ///     response.body().await
    /// });
    /// let body = race.max_attempts(2).first_ok().await?.output;
    /// ```
    #[inline]
    pub fn committing_fn<D>(policy: D, run: R) -> Self
    where
        D: IntoPolicy<T, Policy = P, Hooks = H>,
    {
        Self::committing_fn_with(T::default(), policy, run)
    }
}

impl<K, I, R, X, F, T, P, H> GenericRace<K, Committing<I, R, X, F>, T, P, H>
where
    K: Placement,
    I: Iterator<Item = X>,
    R: FnMut(&X, AttemptHandle) -> F,
    F: Future,
    T: Timer + Unpin,
    P: Policy,
{
    /// Like [`committing`](Self::committing), on a timer of your own.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{AttemptHandle, Race, VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// let run = |&latency: &u64, mut attempt: AttemptHandle| {
    ///     let (headers, body) = (clock.sleep(ms(latency)), clock.sleep(ms(200)));
    ///     async move {
    ///         headers.await;
    ///         attempt.commit().await;
    ///         body.await;
    ///     }
    /// };
    /// let race = Race::committing_with(clock.timer(), ms(50), run, [100, 20]);
    /// assert_eq!(clock.run(race.first())?.map(|won| won.arg), Some(20));
    /// # Ok::<(), race_core::Deadlock>(())
    /// ```
    #[inline]
    pub fn committing_with<D>(
        timer: T,
        policy: D,
        run: R,
        args: impl IntoIterator<IntoIter = I>,
    ) -> Self
    where
        D: IntoPolicy<T, Policy = P, Hooks = H>,
    {
        Self::from_source(timer, policy, Committing::new(args.into_iter(), run))
    }
}

impl<K, R, F, T, P, H> GenericRace<K, CommittingFn<R, F>, T, P, H>
where
    K: Placement,
    R: FnMut(AttemptHandle) -> F,
    F: Future,
    T: Timer + Unpin,
    P: Policy,
{
    /// Like [`committing_fn`](Self::committing_fn), on a timer of your own.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{AttemptHandle, Race, VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// let run = |mut attempt: AttemptHandle| {
    ///     let sleep = clock.sleep(ms([100, 20][attempt.index()]));
    ///     async move {
    ///         sleep.await;
    ///         attempt.commit().await;
    ///     }
    /// };
    /// let race = Race::committing_fn_with(clock.timer(), ms(50), run).max_attempts(2);
    /// assert_eq!(clock.run(race.first())?.map(|won| won.index), Some(1));
    /// # Ok::<(), race_core::Deadlock>(())
    /// ```
    #[inline]
    pub fn committing_fn_with<D>(timer: T, policy: D, run: R) -> Self
    where
        D: IntoPolicy<T, Policy = P, Hooks = H>,
    {
        Self::from_source(timer, policy, CommittingFn::new(run))
    }
}
