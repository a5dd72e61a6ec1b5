use alloc::sync::Arc;
use core::{fmt, ops::Deref, time::Duration};

use super::{Adaptive, plan::Plan, watch::Watch};
use crate::{
    Budget, Policy, Timer,
    observe::{Cause, Clock, Observed, Observer},
    policy::{Charge, IntoPolicy},
};

/// A shared [`Adaptive`]: `&Adaptive` or `Arc<Adaptive>`.
pub trait SharedAdaptive: Deref<Target = Adaptive> + Observer + Clone {}

impl SharedAdaptive for &Adaptive {}
impl SharedAdaptive for Arc<Adaptive> {}

/// The learnt delay as a policy. It does not record samples.
#[derive(Clone)]
pub struct AdaptiveDelay<A> {
    adaptive: A,
    /// What was drawn for this race, if the [`Adaptive`] draws.
    plan: Option<Plan>,
}

impl<A: SharedAdaptive> Policy for AdaptiveDelay<A> {
    fn delay(&mut self, index: usize, _: Cause) -> Option<Duration> {
        if !self.adaptive.is_single() {
            return self.adaptive.delay();
        }
        let plan = self.plan.filter(|plan| plan.hedges && index == 1);
        plan.map(|plan| plan.delay)
    }
}

impl<A> fmt::Debug for AdaptiveDelay<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdaptiveDelay").finish_non_exhaustive()
    }
}

/// The budget of an [`Adaptive`] that has one.
#[derive(Clone)]
pub struct AdaptiveBudget<A>(A);

impl<A: SharedAdaptive> Deref for AdaptiveBudget<A> {
    type Target = Budget;

    fn deref(&self) -> &Budget {
        self.0.budget.as_ref().expect("it has a budget")
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
    type Hooks = (Observed<Watch<A>, C>, Option<Charge<AdaptiveBudget<A>>>);

    fn into_policy(self, _: &T) -> (Self::Policy, Self::Hooks) {
        let Self { adaptive, clock } = self;
        let plan = adaptive.plan();
        let watch = Watch::new(adaptive.clone(), plan.filter(|plan| plan.is_drawn));
        let has_budget = adaptive.budget.is_some();
        let budget = has_budget.then(|| Charge::new(AdaptiveBudget(adaptive.clone())));
        let policy = AdaptiveDelay { adaptive, plan };
        (policy, (Observed::new(clock, watch), budget))
    }
}

macro_rules! into_policy {
    ($($adaptive:ty),*) => {$(
        /// The race records its attempts with a clone of its timer as the clock, and charges its
        /// hedges to the budget of the [`Adaptive`].
        impl<T: Timer + Clone> IntoPolicy<T> for $adaptive {
            type Policy = AdaptiveDelay<Self>;
            type Hooks = (Observed<Watch<Self>, T>, Option<Charge<AdaptiveBudget<Self>>>);

            fn into_policy(self, timer: &T) -> (Self::Policy, Self::Hooks) {
                let (adaptive, clock) = (self, timer.clone());
                TimedBy { adaptive, clock }.into_policy(timer)
            }
        }
    )*};
}

into_policy! { &Adaptive, Arc<Adaptive> }

/// As for `&Adaptive`.
impl<'a, T> IntoPolicy<T> for &'a Arc<Adaptive>
where
    &'a Adaptive: IntoPolicy<T>,
{
    type Policy = <&'a Adaptive as IntoPolicy<T>>::Policy;
    type Hooks = <&'a Adaptive as IntoPolicy<T>>::Hooks;

    fn into_policy(self, timer: &T) -> (Self::Policy, Self::Hooks) {
        (&**self).into_policy(timer)
    }
}

#[cfg(all(test, feature = "test-util"))]
mod tests {
    use super::*;
    use crate::{Race, observe::Counters, test::VirtualClock};

    #[test]
    fn shared_values_are_taken_by_reference_and_in_an_arc() {
        let clock = VirtualClock::new();
        let adaptive = Arc::new(Adaptive::extra_load(5.0).initial(Duration::from_millis(10)));
        let counters = Arc::new(Counters::new());
        let attempts = || [100, 20].map(|millis| clock.sleep(Duration::from_millis(millis)));
        let race = Race::at(clock.timer()).of(&adaptive, attempts());
        let won = clock
            .run(race.observer(&counters).first())
            .expect("it ends");
        assert_eq!(won.expect("it wins").elapsed, Duration::from_millis(30));
        assert_eq!(adaptive.samples(), 2);

        let race = Race::at(clock.timer())
            .of(&*adaptive, attempts())
            .observer(counters.clone());
        clock.run(race.first()).expect("it ends");
        // As an observer it records a second time.
        let race = Race::at(clock.timer())
            .of(adaptive.clone(), attempts())
            .observer(&adaptive);
        clock.run(race.first()).expect("it ends");
        assert_eq!(counters.counts().races, 2);
        assert_eq!(adaptive.samples(), 2 + 1 + 2);
    }
}
