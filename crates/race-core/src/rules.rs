//! What can be asked of a race of either kind: its rules, and the ends that both have.

/// The methods of a race. `Race` and `InlineRace` are given as the beginning of their type, which the
/// timer and the policy complete.
macro_rules! rules {
    ([$($param:tt)*] $($race:tt)*) => {
        impl<$($param)* T, P: $crate::Policy> $($race)* T, P> {
            /// At most `max` attempts run at once; the next start waits until one has finished. 0 is
            /// treated as 1. Without it, as many run as have been started, or as there is room for.
            #[must_use]
            pub fn max_in_flight(mut self, max: usize) -> Self {
                self.course_mut().stagger.set_max_in_flight(max);
                self
            }

            /// At most `max` attempts start at all; no more candidates are drawn. 0 is treated as 1.
            #[must_use]
            pub fn max_attempts(mut self, max: usize) -> Self {
                self.course_mut().stagger.set_max_attempts(max);
                self
            }

            /// What becomes of starts that were missed since nobody polled;
            /// [`CatchUp::Delay`](crate::CatchUp::Delay) by default.
            #[must_use]
            pub fn catch_up(mut self, catch_up: $crate::CatchUp) -> Self {
                self.course_mut().stagger.set_catch_up(catch_up);
                self
            }

            /// What a failure starts; [`OnFailure::IfLatest`](crate::OnFailure::IfLatest) by default. It
            /// counts for the ends that know of failures, such as `first_ok`: in a race that is read as a
            /// stream a failure is a completion like any other, and starts nothing.
            #[must_use]
            pub fn on_failure(mut self, on_failure: $crate::OnFailure) -> Self {
                self.course_mut().stagger.set_on_failure(on_failure);
                self
            }

            /// No start is closer to the one before it, even if that has failed, or if starts were missed.
            /// Happy Eyeballs (RFC 8305, section 8) asks for 10 ms at least.
            #[must_use]
            pub fn min_gap(mut self, gap: core::time::Duration) -> Self {
                self.course_mut().stagger.set_min_gap(gap);
                self
            }

            /// Before each start but the first, when its time has come, `gate` is asked with what is known of
            /// the race: go (`true`), or stop?
            ///
            /// After a stop none starts until a failure calls for it, and then the gate is asked again.
            /// When nothing runs, and it still says stop, the race is over.
            #[must_use]
            pub fn gate<G>(self, gate: G) -> $($race)* T, $crate::Gated<P, G>>
            where
                G: FnMut(&$crate::Standing<'_>) -> bool,
            {
                self.map_policy(|policy| $crate::Gated::new(policy, gate))
            }

            /// Its first attempt pays into a budget that it shares with other races, and each further one
            /// must be paid for. `budget` is a `&Budget`, or an `Arc<Budget>`.
            ///
            /// The first is never refused. When a further one is, none starts until a failure calls for it;
            /// what runs is waited for, and when nothing does the race is over.
            #[cfg(feature = "alloc")]
            #[must_use]
            pub fn budget<B>(self, budget: B) -> $($race)* T, $crate::Budgeted<P, B>>
            where
                B: core::ops::Deref<Target = $crate::Budget>,
            {
                self.map_policy(|policy| $crate::Budgeted::new(policy, budget))
            }

            /// Tells `observer` what happens in the race, as [`observer`](Self::observer) does, at the times
            /// of a clock of your own.
            #[cfg(feature = "alloc")]
            #[must_use]
            pub fn observer_with<O, C>(
                self,
                clock: C,
                observer: O,
            ) -> $($race)* T, $crate::Observed<P, O, C>>
            where
                O: $crate::Observer,
                C: $crate::Clock,
            {
                self.map_policy(|policy| $crate::Observed::new(policy, clock, observer))
            }
        }

        impl<$($param)* T> $($race)* T, $crate::Fixed> {
            /// Replaces the step. Before gates, budgets and observers, which go around it, and before the race is
            /// polled.
            #[must_use]
            pub fn policy<Q: $crate::Policy>(self, policy: Q) -> $($race)* T, Q> {
                self.map_policy(|_| policy)
            }

            /// Starts each attempt when the one before it is slower than most were, as `adaptive` has learnt
            /// it, and lets it learn from this race. `adaptive` is a `&Adaptive`, or an `Arc<Adaptive>`. It
            /// replaces the step. The clock is that of its samples.
            #[cfg(feature = "adaptive")]
            #[must_use]
            pub fn adaptive_with<A, C>(
                self,
                clock: C,
                adaptive: A,
            ) -> $($race)* T, $crate::Observed<A, A, C>>
            where
                A: $crate::Policy + $crate::Observer + Clone,
                C: $crate::Clock,
            {
                self.policy(adaptive.clone()).observer_with(clock, adaptive)
            }
        }

        #[cfg(feature = "adaptive")]
        impl<$($param)* T: $crate::Timer + Default> $($race)* T, $crate::Fixed> {
            /// [`adaptive_with`](Self::adaptive_with) the timer's own clock.
            #[must_use]
            pub fn adaptive<A>(self, adaptive: A) -> $($race)* T, $crate::Observed<A, A, T>>
            where
                A: $crate::Policy + $crate::Observer + Clone,
            {
                self.adaptive_with(T::default(), adaptive)
            }
        }

        impl<$($param)* T: $crate::Timer + Default, P: $crate::Policy> $($race)* T, P> {
            /// Tells `observer` what happens in the race: any `FnMut(Event)`, a pair of observers, or one of
            /// those that are there, such as `&Counters`.
            ///
            /// It reads the clock for each event. Where that costs too much, see `CoarseClock` (feature
            /// `coarsetime`) and [`observer_with`](Self::observer_with).
            #[cfg(feature = "alloc")]
            #[must_use]
            pub fn observer<O>(self, observer: O) -> $($race)* T, $crate::Observed<P, O, T>>
            where
                O: $crate::Observer,
            {
                self.observer_with(T::default(), observer)
            }
        }

        impl<$($param)* T: $crate::Timer + Unpin, P: $crate::Policy> $($race)* T, P> {
            /// The first to finish wins, and the others are cancelled.
            ///
            /// Nothing fails here: for timeouts, a deadline or a classifier take `first_by`.
            #[must_use = "futures do nothing unless polled"]
            pub fn first(self) -> $crate::First<Self> {
                $crate::First::new(self)
            }

            /// The first `Ok` wins, and the others are cancelled. When the latest to start has failed, or
            /// nothing runs any more, the next starts at once. Without an `Ok` it gives every error.
            ///
            /// [`attempt_timeout`](crate::Decision::attempt_timeout) and
            /// [`deadline`](crate::Decision::deadline) are methods of what it returns. Errors are kept on the
            /// heap.
            #[cfg(feature = "alloc")]
            #[must_use = "futures do nothing unless polled"]
            pub fn first_ok<V, E>(
                self,
            ) -> $crate::Decision<Self, $crate::ends::OkWins, $crate::ends::One>
            where
                S: Source<Output = Result<V, E>>,
            {
                $crate::Decision::new(self, $crate::ends::OkWins, $crate::ends::One)
            }

            /// As [`first_ok`](Self::first_ok), and `classify` says what an error means: worth another attempt,
            /// not before a delay, or fatal to all. See [`Verdict`](crate::Verdict); an error that it accepts is
            /// taken for retryable.
            #[cfg(feature = "alloc")]
            #[must_use = "futures do nothing unless polled"]
            pub fn first_ok_by<V, E, C>(
                self,
                classify: C,
            ) -> $crate::Decision<Self, $crate::ends::OkWinsBy<C>, $crate::ends::One>
            where
                S: Source<Output = Result<V, E>>,
                C: FnMut(&E) -> $crate::Verdict,
            {
                $crate::Decision::new(self, $crate::ends::OkWinsBy(classify), $crate::ends::One)
            }

            /// The first output that `classify` accepts wins; as [`first_ok`](Self::first_ok), for outputs
            /// of any type. Failures keep the whole output. See [`Verdict`](crate::Verdict).
            #[cfg(feature = "alloc")]
            #[must_use = "futures do nothing unless polled"]
            pub fn first_by<C>(
                self,
                classify: C,
            ) -> $crate::Decision<Self, $crate::ends::By<C>, $crate::ends::One>
            where
                C: FnMut(&S::Output) -> $crate::Verdict,
            {
                $crate::Decision::new(self, $crate::ends::By(classify), $crate::ends::One)
            }

            /// The first `needed` that are `Ok`, in the order in which they finish; the others are
            /// cancelled. It fails as soon as so many cannot be had any more. None needed is reached at once.
            ///
            /// It staggers like any race. To start as many as are needed at once, and further ones in
            /// case they are slow, give it [`Steps`](crate::Steps).
            #[cfg(feature = "alloc")]
            #[must_use = "futures do nothing unless polled"]
            pub fn quorum<V, E>(
                self,
                needed: usize,
            ) -> $crate::Decision<Self, $crate::ends::OkWins, $crate::ends::Many<S::Arg, V>>
            where
                S: Source<Output = Result<V, E>>,
            {
                self.quorum_of(needed, $crate::ends::OkWins)
            }

            #[cfg(feature = "alloc")]
            fn quorum_of<J: $crate::ends::Judge<S::Output>>(
                mut self,
                needed: usize,
                judge: J,
            ) -> $crate::Decision<Self, J, $crate::ends::Many<S::Arg, J::Value>> {
                self.course_mut().stagger.set_needed(needed);
                $crate::Decision::new(self, judge, $crate::ends::Many::new(needed))
            }

            /// The first `needed` outputs that `classify` accepts; as [`quorum`](Self::quorum).
            #[cfg(feature = "alloc")]
            #[must_use = "futures do nothing unless polled"]
            pub fn quorum_by<C>(
                self,
                needed: usize,
                classify: C,
            ) -> $crate::Decision<Self, $crate::ends::By<C>, $crate::ends::Many<S::Arg, S::Output>>
            where
                C: FnMut(&S::Output) -> $crate::Verdict,
            {
                self.quorum_of(needed, $crate::ends::By(classify))
            }
        }
    };
}

pub(crate) use rules;
