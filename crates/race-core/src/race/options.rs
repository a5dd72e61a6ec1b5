//! The options of a race. They come before the finisher, in any order, and before the first poll.
//! What the plain limits mean is documented once, at [`RaceOptions`](super::RaceOptions).

use core::time::Duration;

use super::{GenericRace, Placement, Schedule};
use crate::{
    Backoff, CatchUp, Hook, OnFailure, Policy, Timer,
    policy::{Gate, Permit, RaceState, Resumed, WithBackoff},
    source::Source,
};

impl<K: Placement, S: Source, T: Timer, P: Policy, H: Hook> GenericRace<K, S, T, P, H> {
    /// Limits how many attempts run at once; see
    /// [`RaceOptions::max_in_flight`](crate::RaceOptions::max_in_flight()). Default: no limit.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// let fetch = |&page: &u64| clock.sleep(ms(page));
    /// let mut pages = Race::at(clock.timer()).new(ms(0), fetch, 1..=100).max_in_flight(8);
    /// # clock.run(async {
    /// while let Some((page, ())) = pages.next().await {
    ///     assert!(pages.len() < 8);
    /// }
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn max_in_flight(mut self, max: usize) -> Self {
        self.schedule_mut().stagger.set_max_in_flight(max);
        self
    }

    /// Limits how many attempts start in total; see
    /// [`RaceOptions::max_attempts`](crate::RaceOptions::max_attempts()). Default: no limit.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Backoff, Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let ask = |_| async { Err::<(), _>("busy") };
    /// let retries = Race::at(clock.timer()).from_fn(Backoff::new(ms(10)), ask).max_attempts(3);
    /// let error = clock.run(retries.first_ok())?.unwrap_err();
    /// assert_eq!(error.failed().len(), 3);
    /// # Ok::<(), race_core::test::Deadlock>(())
    /// ```
    #[must_use]
    pub fn max_attempts(mut self, max: usize) -> Self {
        self.schedule_mut().set_max_attempts(max);
        self
    }

    /// Sets what happens to starts that were missed because the race was not polled in time; see
    /// [`RaceOptions::catch_up`](crate::RaceOptions::catch_up()). Default: [`CatchUp::Delay`].
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{CatchUp, Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let attempts = [5, 6, 7].map(|latency| clock.sleep(ms(latency)));
    /// let mut race = Race::at(clock.timer()).of(ms(10), attempts).catch_up(CatchUp::Burst);
    /// # clock.run(async {
    /// race.next().await;
    /// clock.advance(ms(60)); // the race is not polled in the meantime
    /// race.next().await;
    /// race.next().await;
    /// # }).unwrap();
    /// assert_eq!(clock.elapsed(), ms(72)); // the missed two started together at 65
    /// ```
    #[must_use]
    pub fn catch_up(mut self, catch_up: CatchUp) -> Self {
        self.schedule_mut().stagger.set_catch_up(catch_up);
        self
    }

    /// Sets what a failure starts, in result-aware finishers; see
    /// [`RaceOptions::on_failure`](crate::RaceOptions::on_failure()). Default:
    /// [`OnFailure::IfLatest`].
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{OnFailure, Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let attempts = [Err("refused"), Ok(7)].map(|answer| async move { answer });
    /// let race = Race::at(clock.timer()).of(ms(50), attempts).on_failure(OnFailure::Wait);
    /// let won = clock.run(race.first_ok())??;
    /// assert_eq!(won.elapsed, ms(50)); // by default attempt 1 would have started at once
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.schedule_mut().stagger.set_on_failure(on_failure);
        self
    }

    /// Adds pauses between a failure and the attempt that it starts.
    ///
    /// If the delay of the race passes before the pause ends, the next attempt starts at the delay.
    /// Several failures between two starts count as one.
    /// For retries without hedging, pass the [`Backoff`] as the policy instead. It applies to
    /// result-aware finishers; in a race that is read as a stream nothing is a failure.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Backoff, Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let attempts = [Err("refused"), Ok(7)].map(|answer| async move { answer });
    /// let race = Race::at(clock.timer()).of(ms(500), attempts).backoff(Backoff::new(ms(20)));
    /// assert_eq!(clock.run(race.first_ok())??.elapsed, ms(20));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn backoff(self, backoff: Backoff) -> GenericRace<K, S, T, WithBackoff<P>, H> {
        self.map(|policy| WithBackoff::new(policy, backoff), |hooks| hooks)
    }

    /// Sets the minimum time between two starts; see
    /// [`RaceOptions::min_gap`](crate::RaceOptions::min_gap()). Default: zero.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let attempts = [Err("refused"), Ok(7)].map(|answer| async move { answer });
    /// let race = Race::at(clock.timer()).of(ms(250), attempts).min_gap(ms(10));
    /// assert_eq!(clock.run(race.first_ok())??.elapsed, ms(10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn min_gap(mut self, gap: Duration) -> Self {
        self.schedule_mut().stagger.set_min_gap(gap);
        self
    }

    /// Limits how long each attempt may run; see
    /// [`RaceOptions::attempt_timeout`](crate::RaceOptions::attempt_timeout()). Default: none.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Failure, Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let attempts = [clock.sleep(ms(700)), clock.sleep(ms(900))].map(|sleep| async {
    /// #     sleep.await;
    /// #     Ok::<_, std::io::Error>(())
    /// # });
    /// let race = Race::at(clock.timer()).of(ms(50), attempts).attempt_timeout(ms(200));
    /// let error = clock.run(race.first_ok())?.unwrap_err();
    /// assert_eq!(error.to_string(), "all 2 attempts failed: #0: timed out after 200ms; #1: timed out after 200ms");
    /// # Ok::<(), race_core::test::Deadlock>(())
    /// ```
    #[must_use]
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        let starts = self.schedule.stagger.starts();
        self.schedule_mut().timeouts.set_attempt(timeout, starts);
        self
    }

    /// Limits how long the race may take, counted from its first poll; see
    /// [`RaceOptions::deadline`](crate::RaceOptions::deadline()). Default: none.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let attempts = [clock.sleep(ms(700)), clock.sleep(ms(900))];
    /// let race = Race::at(clock.timer()).of(ms(50), attempts).deadline(ms(300));
    /// assert_eq!(clock.run(race.first())?, None);
    /// assert_eq!(clock.elapsed(), ms(300));
    /// # Ok::<(), race_core::test::Deadlock>(())
    /// ```
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.schedule_mut().timeouts.set_deadline(deadline);
        self
    }

    /// Asks `gate` before each start except the first, when the start is due. The gate returns a
    /// `bool` or a [`Permit`].
    ///
    /// Of several gates, each must permit the start. A gate is asked before a budget is charged.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let attempts = [900, 10].map(|latency| clock.sleep(ms(latency)));
    /// # let server_is_healthy = || false;
    /// let race = Race::at(clock.timer()).of(ms(50), attempts)
    ///     .gate(|race| race.failed < 3 && server_is_healthy());
    /// assert_eq!(clock.run(race.first())?.map(|won| won.index), Some(0));
    /// # Ok::<(), race_core::test::Deadlock>(())
    /// ```
    #[must_use]
    pub fn gate<G, R>(self, gate: G) -> GenericRace<K, S, T, P, (H, Gate<G, R>)>
    where
        G: FnMut(&RaceState<'_>) -> R,
        R: Into<Permit>,
    {
        self.map(|policy| policy, |hooks| (hooks, Gate::new(gate)))
    }

    /// Marks attempt 0 as one that ran before this race, which only waits for what it yields next.
    /// Call it last.
    ///
    /// Gates, budgets and observers that were added before this call learn nothing of attempt 0: a
    /// budget gets no deposit, and an observer no event. The other attempts are permitted, charged
    /// and reported as in any race.
    ///
    /// Use it, for example, for a download that is hedged again whenever it stalls: each stall is a
    /// race, and the download is one request.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Budget, Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let attempts = [900, 10].map(|latency| clock.sleep(ms(latency)));
    /// let budget = Budget::percent(100);
    /// let race = Race::at(clock.timer()).of(ms(50), attempts).budget(&budget).resumed();
    /// assert_eq!(clock.run(race.first())?.map(|won| won.index), Some(0)); // no deposit, no hedge
    /// # Ok::<(), race_core::test::Deadlock>(())
    /// ```
    #[must_use]
    pub fn resumed(self) -> GenericRace<K, S, T, P, Resumed<H>> {
        self.map(|policy| policy, Resumed::new)
    }

    /// Returns the schedule in order to change an option. The next poll evaluates everything again.
    fn schedule_mut(&mut self) -> &mut Schedule<S, T, P, H, K::Expiries> {
        self.schedule.settled = false;
        &mut self.schedule
    }

    pub(super) fn map<P2: Policy, H2: Hook>(
        self,
        policy: impl FnOnce(P) -> P2,
        hooks: impl FnOnce(H) -> H2,
    ) -> GenericRace<K, S, T, P2, H2> {
        GenericRace {
            attempts: self.attempts,
            schedule: self.schedule.map(policy, hooks),
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

    impl<K: Placement, S: Source, T: Timer, P: Policy, H: Hook> GenericRace<K, S, T, P, H> {
        /// Charges hedges to a [`Budget`](crate::Budget) that many races share: a `&Budget`, an
        /// `Arc<Budget>`, or an `Option` of these for options that come from elsewhere.
        ///
        /// After a refusal, delays start nothing any more; a failure still does, and so does the
        /// end of the last running attempt in result-aware finishers. With
        /// [`OnFailure::Wait`](crate::OnFailure::Wait) nothing does: the refusal is final.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use race_core::{Budget, Race, test::VirtualClock};
        /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
        /// let budget = Budget::percent(5).reserve(10);
        /// # let attempts = [900, 10].map(|latency| clock.sleep(ms(latency)));
        /// let race = Race::at(clock.timer()).of(ms(50), attempts).budget(&budget);
        /// assert_eq!(clock.run(race.first())?.map(|won| won.index), Some(1));
        /// assert_eq!(budget.balance(), 9);
        /// # Ok::<(), race_core::test::Deadlock>(())
        /// ```
        #[must_use]
        pub fn budget<B: IntoBudget>(self, budget: B) -> GenericRace<K, S, T, P, (H, B::Hook)> {
            self.map(|policy| policy, |hooks| (hooks, budget.into_hook()))
        }

        /// Reports the events of the race to an [`Observer`].
        ///
        /// Each event costs one read of the clock, which is a clone of the race's timer. If that is
        /// too much, see `CoarseClock` (feature `coarsetime`) and
        /// [`observer_with`](Self::observer_with). For a closure, see [`on_event`](Self::on_event).
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use race_core::{Race, observe::Counters, test::VirtualClock};
        /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
        /// # let attempts = [900, 10].map(|latency| clock.sleep(ms(latency)));
        /// let counters = Counters::new();
        /// let race = Race::at(clock.timer()).of(ms(50), attempts).observer(&counters);
        /// clock.run(race.first())?;
        /// assert_eq!(counters.counts().cancelled, 1);
        /// # Ok::<(), race_core::test::Deadlock>(())
        /// ```
        #[must_use]
        pub fn observer<O>(self, observer: O) -> GenericRace<K, S, T, P, (H, Observed<O, T>)>
        where
            O: Observer,
            T: Clone,
        {
            let clock = self.schedule.timer.clone();
            self.observer_with(clock, observer)
        }

        /// Like [`observer`](Self::observer), with the times of a clock of your own.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use race_core::{Race, observe::Counters, test::VirtualClock};
        /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
        /// # let attempts = [900, 10].map(|latency| clock.sleep(ms(latency)));
        /// let counters = Counters::new();
        /// let race = Race::at(clock.timer()).of(ms(50), attempts)
        ///     .observer_with(clock.clone(), &counters);
        /// clock.run(race.first())?;
        /// assert_eq!(counters.counts().wasted, ms(60));
        /// # Ok::<(), race_core::test::Deadlock>(())
        /// ```
        #[must_use]
        pub fn observer_with<O, C>(
            self,
            clock: C,
            observer: O,
        ) -> GenericRace<K, S, T, P, (H, Observed<O, C>)>
        where
            O: Observer,
            C: Clock,
        {
            self.map(
                |policy| policy,
                |hooks| (hooks, Observed::new(clock, observer)),
            )
        }

        /// Calls `on_event` for each event of the race.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use race_core::{Race, observe::EventKind, test::VirtualClock};
        /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
        /// # let attempts = [900, 10].map(|latency| clock.sleep(ms(latency)));
        /// let mut starts = 0;
        /// let race = Race::at(clock.timer()).of(ms(50), attempts).on_event(|event| {
        ///     if event.kind == EventKind::Started {
        ///         starts += 1;
        ///     }
        /// });
        /// clock.run(race.first())?;
        /// assert_eq!(starts, 2);
        /// # Ok::<(), race_core::test::Deadlock>(())
        /// ```
        #[expect(
            clippy::type_complexity,
            reason = "the type of a race with one hook more"
        )]
        #[must_use]
        pub fn on_event<F>(
            self,
            on_event: F,
        ) -> GenericRace<K, S, T, P, (H, Observed<OnEvent<F>, T>)>
        where
            F: FnMut(Event),
            T: Clone,
        {
            self.observer(OnEvent::new(on_event))
        }
    }
}
