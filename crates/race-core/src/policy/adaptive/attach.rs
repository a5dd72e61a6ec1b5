use alloc::sync::Arc;
use core::{fmt, ops::Deref, time::Duration};

use super::Adaptive;
use crate::{Cause, Clock, Hook, IntoPolicy, Observed, Observer, Policy, RaceState, Timer};

/// A shared [`Adaptive`]: `&Adaptive` or `Arc<Adaptive>`.
pub trait SharedAdaptive: Deref<Target = Adaptive> + Observer + Clone {}

impl SharedAdaptive for &Adaptive {}
impl SharedAdaptive for Arc<Adaptive> {}

/// The learnt delay as a policy. It does not record samples.
#[derive(Clone)]
pub struct AdaptiveDelay<A>(A);

impl<A: SharedAdaptive> Policy for AdaptiveDelay<A> {
    fn delay(&mut self, _: usize, _: Cause) -> Option<Duration> {
        self.0.delay()
    }
}

impl<A> fmt::Debug for AdaptiveDelay<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdaptiveDelay").finish_non_exhaustive()
    }
}

/// The budget of an [`Adaptive`], attached to a race.
#[derive(Clone)]
pub struct AdaptiveBudget<A>(A);

impl<A: SharedAdaptive> Hook for AdaptiveBudget<A> {
    fn charge(&mut self, state: &RaceState<'_>) -> bool {
        let budget = self.0.budget.as_ref();
        budget.is_none_or(|budget| budget.charge(state))
    }

    fn refund(&mut self, state: &RaceState<'_>) {
        if let Some(budget) = &self.0.budget {
            budget.refund(state);
        }
    }

    fn started(&mut self, index: usize, _: Cause) {
        if let Some(budget) = &self.0.budget {
            budget.started(index);
        }
    }
}

impl<A> fmt::Debug for AdaptiveBudget<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdaptiveBudget").finish_non_exhaustive()
    }
}

/// An [`Adaptive`] that measures attempts on a clock of its own, made by [`Adaptive::timed_by`].
#[derive(Clone, Debug)]
pub struct TimedBy<A, C> {
    pub(super) adaptive: A,
    pub(super) clock: C,
}

impl<T, A: SharedAdaptive, C: Clock> IntoPolicy<T> for TimedBy<A, C> {
    type Policy = AdaptiveDelay<A>;
    type Hooks = (Observed<A, C>, AdaptiveBudget<A>);

    fn into_policy(self, _: &T) -> (Self::Policy, Self::Hooks) {
        let Self { adaptive, clock } = self;
        let observed = Observed::new(clock, adaptive.clone());
        let budget = AdaptiveBudget(adaptive.clone());
        (AdaptiveDelay(adaptive), (observed, budget))
    }
}

macro_rules! into_policy {
    ($($adaptive:ty),*) => {$(
        /// The race records its attempts with a clone of its timer as the clock, and charges its
        /// hedges to the budget of the [`Adaptive`].
        impl<T: Timer + Clone> IntoPolicy<T> for $adaptive {
            type Policy = AdaptiveDelay<Self>;
            type Hooks = (Observed<Self, T>, AdaptiveBudget<Self>);

            fn into_policy(self, timer: &T) -> (Self::Policy, Self::Hooks) {
                let (adaptive, clock) = (self, timer.clone());
                TimedBy { adaptive, clock }.into_policy(timer)
            }
        }
    )*};
}

into_policy! { &Adaptive, Arc<Adaptive> }
