use core::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_core::FusedFuture;
use pin_project_lite::pin_project;

use super::{Decision, Failures, goal::Goal, judge::Judge};
use crate::{
    Hook, Policy, Timer,
    attempts::AttemptSet,
    race::{GenericRace, Placement},
    source::Source,
};

pin_project! {
    /// The future of [`Decision::keep_race`].
    ///
    /// # Cancel safety
    ///
    /// Dropping it cancels the race. To stop waiting and continue later, await `&mut` of it.
    ///
    /// # Panics
    ///
    /// Panics where [`Decision`] does.
    #[must_use = "futures do nothing unless polled"]
    pub struct KeepRace<D> {
        #[pin]
        decision: D,
    }
}

impl<R, J, G, L> Decision<R, J, G, L> {
    /// Resolves to `(Result, Race)`: the result of this finisher, and the race with the attempts
    /// that are still running, instead of cancelling them.
    ///
    /// The race starts no more attempts and has no timeouts any more. Read it as a stream to let
    /// the losers finish, such as attempts whose connection goes back to a pool, or call
    /// `into_args` to cancel them and get their arguments back. A candidate that was drawn and had
    /// not started is dropped.
    ///
    /// If an attempt commits (see `AttemptHandle`), the others run on beside it. The output of one
    /// that finishes before it does is dropped. If the race has no winner, commits have no effect
    /// after the decision.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, test::VirtualClock};
    /// # let clock = VirtualClock::new();
    /// # let ms = Duration::from_millis;
    /// # let connect = |&number: &u64| {
    /// #     let sleep = clock.sleep(ms(100 / number));
    /// #     async move { sleep.await; Ok::<_, std::io::Error>(number) }
    /// # };
    /// # let race = Race::at(clock.timer()).new(ms(0), connect, [1, 2, 4]);
    /// # let mut pool = Vec::new();
    /// # clock.run(async {
    /// let (answer, mut losers) = race.first_ok().keep_race().await;
    /// let connection = answer?.output;
    /// while let Some((_, late)) = losers.next().await {
    ///     pool.extend(late); // or in a task of its own
    /// }
    /// # assert_eq!((connection, pool), (4, vec![2, 1]));
    /// # Ok::<(), race_core::RaceError<u64, std::io::Error>>(())
    /// # }).unwrap().unwrap();
    /// ```
    pub fn keep_race(self) -> KeepRace<Self>
    where
        R: Unpin,
    {
        KeepRace { decision: self }
    }
}

impl<K, S, T, P, H, J, G, L> Future for KeepRace<Decision<GenericRace<K, S, T, P, H>, J, G, L>>
where
    K: Placement,
    K::Set<S::Attempt, (S::Arg, usize)>: AttemptSet<S::Attempt, (S::Arg, usize)> + Unpin,
    S: Source,
    T: Timer + Unpin,
    P: Policy,
    H: Hook,
    J: Judge<S::Output>,
    G: Goal<S::Arg, J::Value, L>,
    L: Failures<Arg = S::Arg, Error = J::Error>,
{
    type Output = (Result<G::Value, G::Error>, GenericRace<K, S, T, P, H>);

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut decision = self.project().decision;
        decision.as_mut().keep_losers();
        let result = ready!(decision.as_mut().poll_result(cx));
        let mut race = decision.take_race();
        race.schedule.drain();
        Poll::Ready((result, race))
    }
}

impl<D: fmt::Debug> fmt::Debug for KeepRace<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeepRace")
            .field("decision", &self.decision)
            .finish()
    }
}

impl<K, S, T, P, H, J, G, L> FusedFuture for KeepRace<Decision<GenericRace<K, S, T, P, H>, J, G, L>>
where
    K: Placement,
    K::Set<S::Attempt, (S::Arg, usize)>: AttemptSet<S::Attempt, (S::Arg, usize)> + Unpin,
    S: Source,
    T: Timer + Unpin,
    P: Policy,
    H: Hook,
    J: Judge<S::Output>,
    G: Goal<S::Arg, J::Value, L>,
    L: Failures<Arg = S::Arg, Error = J::Error>,
{
    fn is_terminated(&self) -> bool {
        self.decision.is_decided()
    }
}
