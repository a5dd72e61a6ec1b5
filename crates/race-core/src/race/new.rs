//! The constructors of a race on the default timer of its alias.

use futures_core::Stream;

use super::{GenericRace, Placement};
use crate::{
    Policy, Timer,
    policy::IntoPolicy,
    source::{Args, Arrivals, IntoAttempts, Of, Repeat, Source},
};

// The compiler quotes the lines of these bounds to users who race without a timer.
impl<K, I, F, T, P, H> GenericRace<K, Of<I, F>, T, P, H>
where
    K: Placement,
    I: Iterator<Item = F>,
    F: Future,
    T: Timer + Default + Unpin, // use race::Race or an adapter's, such as race_tokio::Race, else Race::at(timer).of(..)
    P: Policy,
{
    /// Races the futures of an iterator or a tuple. `policy` is the delay between two starts, or
    /// another [`Policy`](crate::Policy). The argument of each attempt is its index.
    ///
    /// The futures of a tuple have different types and one output type; see [`IntoAttempts`].
    ///
    /// Futures are taken from the iterator on demand, so it may be endless. A delay of zero starts
    /// all at once. A delay of more than about 584 years never passes.
    ///
    /// ```ignore
    /// let won = race_tokio::Race::of(Duration::from_millis(50), hosts.map(connect)).first_ok().await?;
    /// let read = race_tokio::Race::of(Duration::from_millis(5), (cache.get(key), server.get(key)));
    /// ```
    #[inline]
    pub fn of<D, M>(policy: D, attempts: impl IntoAttempts<M, Attempts = I, Attempt = F>) -> Self
    where
        D: IntoPolicy<T, Policy = P, Hooks = H>,
    {
        GenericRace::at(T::default()).of(policy, attempts)
    }
}

impl<K, I, R, X, F, T, P, H> GenericRace<K, Args<I, R, X, F>, T, P, H>
where
    K: Placement,
    I: Iterator<Item = X>,
    R: FnMut(&X) -> F, // async closure? Race::of(policy, args.into_iter().map(async |arg| ..)), and capture by reference
    F: Future,
    T: Timer + Default + Unpin, // use race::Race or an adapter's, such as race_tokio::Race, else Race::at(timer).new(..)
    P: Policy,
{
    /// Races `run(&arg)` for each argument, and returns the argument with the output. `policy` is
    /// the delay between two starts, or another [`Policy`](crate::Policy).
    ///
    /// Arguments are taken on demand, so they may be endless. The race draws the next argument when
    /// it starts to wait for the delay before it, and calls `run` when the attempt starts. To
    /// choose a target at the last moment, choose it in `run`, or use [`from_fn`](Self::from_fn).
    ///
    /// `run` receives `&arg`: with `&str` arguments that is `&&str`, so write `|&url|`. Write the
    /// closure inside the call, so that the compiler infers its lifetimes.
    ///
    /// The future that `run` returns cannot borrow from the argument, because the argument moves.
    /// Copy or clone what the future needs before its `async move` block. So `run` cannot be an
    /// `async |arg: &A|` closure. If each attempt may own its argument, race futures instead, also
    /// inside spawned futures; the winner is `won.index`:
    ///
    /// ```ignore
    /// let ask = async |host: String| client.get(&host).await;
    /// let won = race_tokio::Race::of(Duration::from_millis(50), hosts.into_iter().map(ask)).first_ok().await?;
    /// ```
    ///
    /// An `async move` closure that uses a captured value is not `FnMut`. Leave out `move`, or capture
    /// a reference: `let client = &client;`.
    ///
    /// ```ignore
    /// let race = race_tokio::Race::new(Duration::from_millis(50), |&host| connect(host), hosts);
    /// println!("{} answered first", race.first_ok().await?.arg);
    /// ```
    #[inline]
    pub fn new<D>(policy: D, run: R, args: impl IntoIterator<IntoIter = I>) -> Self
    where
        D: IntoPolicy<T, Policy = P, Hooks = H>,
    {
        GenericRace::at(T::default()).new(policy, run, args)
    }
}

impl<K, R, F, T, P, H> GenericRace<K, Repeat<R, F>, T, P, H>
where
    K: Placement,
    R: FnMut(usize) -> F, // async move closure? capture by reference: let value = &value;
    F: Future,
    T: Timer + Default + Unpin, // use race::Race or an adapter's, such as race_tokio::Race, else Race::at(timer).from_fn(..)
    P: Policy,
{
    /// Races `run(index)`, without end: limit it with `max_attempts` or a gate. `policy` is the
    /// delay between two starts, or another [`Policy`](crate::Policy).
    ///
    /// `run` is called when the attempt starts, so it can choose the target at the last moment.
    ///
    /// ```ignore
    /// let pauses = Backoff::new(Duration::from_millis(100)).jitter();
    /// let answer = race_tokio::Race::from_fn(pauses, |_| ask(pool.least_loaded())).first_ok().await?;
    /// ```
    #[inline]
    pub fn from_fn<D>(policy: D, run: R) -> Self
    where
        D: IntoPolicy<T, Policy = P, Hooks = H>,
    {
        GenericRace::at(T::default()).from_fn(policy, run)
    }
}

impl<K, I, R, X, F, T, P, H> GenericRace<K, Arrivals<I, R, X, F>, T, P, H>
where
    K: Placement,
    I: Stream<Item = X> + Unpin,
    R: FnMut(&X) -> F, // async closure? Race::of(policy, args.into_iter().map(async |arg| ..)), and capture by reference
    F: Future,
    T: Timer + Default + Unpin, // use race::Race or an adapter's, such as race_tokio::Race, else Race::at(timer).from_stream(..)
    P: Policy,
{
    /// Races `run(&arg)` for each argument of a stream, for arguments that arrive over time.
    /// Waiting for an argument is not lateness. Pin a stream that is not `Unpin`.
    ///
    /// One argument is drawn ahead: while the delay runs, the next argument is in the race already,
    /// and it is dropped if the race ends before its start. To choose a target at the last moment,
    /// choose it in `run`, which is called when the attempt starts, or use
    /// [`from_fn`](Self::from_fn).
    ///
    /// ```ignore
    /// let addresses = pin!(resolve(host)); // a stream
    /// let race = race_tokio::Race::from_stream(Duration::from_millis(250), |&it| connect(it), addresses);
    /// ```
    #[inline]
    pub fn from_stream<D>(policy: D, run: R, args: I) -> Self
    where
        D: IntoPolicy<T, Policy = P, Hooks = H>,
    {
        GenericRace::at(T::default()).from_stream(policy, run, args)
    }
}

impl<K, S, T, P, H> GenericRace<K, S, T, P, H>
where
    K: Placement,
    S: Source,
    T: Timer + Default + Unpin, // use race::Race or an adapter's, such as race_tokio::Race, else Race::at(timer).from_source(..)
    P: Policy,
{
    /// Races the candidates of a [`Source`] of your own.
    ///
    /// ```
    /// use std::task::{Context, Poll};
    /// use race_core::source::{Source, SourceTypes};
    /// # use std::time::Duration;
    /// # use race_core::{Race, test::{VirtualClock, VirtualSleep}};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    ///
    /// /// Takes the latest item first.
    /// struct Latest(Vec<VirtualSleep>);
    ///
    /// impl SourceTypes for Latest {
    ///     type Candidate = VirtualSleep;
    ///     type Arg = ();
    ///     type Attempt = VirtualSleep;
    /// }
    ///
    /// impl Source for Latest {
    ///     type Output = ();
    ///
    ///     fn poll_candidate(&mut self, _: &mut Context<'_>) -> Poll<Option<VirtualSleep>> {
    ///         Poll::Ready(self.0.pop())
    ///     }
    ///
    ///     fn attempt(&mut self, candidate: VirtualSleep) -> ((), VirtualSleep) {
    ///         ((), candidate)
    ///     }
    /// }
    ///
    /// let source = Latest([100, 20].map(|latency| clock.sleep(ms(latency))).into());
    /// let race = Race::at(clock.timer()).from_source(ms(50), source);
    /// assert_eq!(clock.run(race.first())?.map(|won| won.elapsed), Some(ms(20)));
    /// # Ok::<(), race_core::test::Deadlock>(())
    /// ```
    #[inline]
    pub fn from_source<D>(policy: D, source: S) -> Self
    where
        D: IntoPolicy<T, Policy = P, Hooks = H>,
    {
        GenericRace::at(T::default()).from_source(policy, source)
    }
}
