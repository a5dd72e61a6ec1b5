use core::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_core::FusedFuture;
use pin_project_lite::pin_project;

use super::Won;
use crate::{
    Hook, Policy, Timer,
    attempts::AttemptSet,
    observe::EventKind,
    race::{GenericRace, Placement},
    source::Source,
};

pin_project! {
    /// The future of [`first`](GenericRace::first).
    ///
    /// # Cancel safety
    ///
    /// Dropping it cancels the race. To stop waiting and continue later, await `&mut` of it.
    ///
    /// # Panics
    ///
    /// Panics where polling a race does, and if it is polled again after it was ready.
    #[must_use = "futures do nothing unless polled"]
    pub struct First<R> {
        // `None` once it was ready.
        #[pin]
        race: Option<R>,
    }
}

impl<K, S, T, P, H> GenericRace<K, S, T, P, H>
where
    K: Placement,
    K::Set<S::Attempt, (S::Arg, usize)>: AttemptSet<S::Attempt, (S::Arg, usize)>,
    S: Source,
    T: Timer + Unpin,
    P: Policy,
    H: Hook,
{
    /// Resolves to `Option<Won<Arg, Output>>`: the first attempt to finish, whatever its output.
    /// The others are cancelled.
    ///
    /// `None` means that no attempt finished: there were no candidates, none could start, all timed
    /// out or panicked, or the deadline passed. To tell success from failure, see `first_ok` and
    /// `first_by`.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// let attempts = [100, 20, 80].map(|latency| clock.sleep(ms(latency)));
    /// let race = Race::at(clock.timer()).of(ms(50), attempts);
    /// let won = clock.run(race.first())?.expect("there are three candidates");
    /// assert_eq!((won.index, won.elapsed), (1, ms(70)));
    /// # Ok::<(), race_core::test::Deadlock>(())
    /// ```
    pub fn first(self) -> First<Self> {
        First { race: Some(self) }
    }
}

impl<K, S, T, P, H> Future for First<GenericRace<K, S, T, P, H>>
where
    K: Placement,
    K::Set<S::Attempt, (S::Arg, usize)>: AttemptSet<S::Attempt, (S::Arg, usize)>,
    S: Source,
    T: Timer + Unpin,
    P: Policy,
    H: Hook,
{
    type Output = Option<Won<S::Arg, S::Output>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.as_mut().project();
        let race = this.race.as_mut().as_pin_mut();
        let (attempts, schedule) = race.expect("`First` is polled after it was ready").parts();
        let polled = schedule.poll_finished(attempts, EventKind::Won, cx);
        if polled.is_pending() {
            schedule.note_began();
        }
        let won = ready!(polled).map(|finished| Won {
            arg: finished.arg,
            output: finished.output,
            index: finished.index,
            elapsed: schedule.elapsed(),
        });
        this.race.set(None);
        Poll::Ready(won)
    }
}

impl<R: fmt::Debug> fmt::Debug for First<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("First").field("race", &self.race).finish()
    }
}

impl<K, S, T, P, H> FusedFuture for First<GenericRace<K, S, T, P, H>>
where
    K: Placement,
    K::Set<S::Attempt, (S::Arg, usize)>: AttemptSet<S::Attempt, (S::Arg, usize)>,
    S: Source,
    T: Timer + Unpin,
    P: Policy,
    H: Hook,
{
    fn is_terminated(&self) -> bool {
        self.race.is_none()
    }
}
