use std::{fmt, sync::Arc, time::Duration};

use race_core::{Adaptive, Policy, adaptive::AdaptiveDelay, observe::Cause, policy::IntoPolicy};

/// The learnt delay of one read, as [`AdaptiveDelays`](crate::AdaptiveDelays) return it.
#[derive(Clone, Debug)]
pub struct ClassDelay {
    own: Arc<Adaptive>,
    /// The delay of a larger class.
    lent: Option<Duration>,
}

impl ClassDelay {
    pub(crate) fn new(own: Arc<Adaptive>, lent: Option<Duration>) -> Self {
        Self { own, lent }
    }
}

impl<T> IntoPolicy<T> for ClassDelay
where
    Arc<Adaptive>: IntoPolicy<T, Policy = AdaptiveDelay<Arc<Adaptive>>>,
{
    type Policy = ClassPolicy;
    type Hooks = <Arc<Adaptive> as IntoPolicy<T>>::Hooks;

    fn into_policy(self, timer: &T) -> (ClassPolicy, Self::Hooks) {
        let Self { own, lent } = self;
        let (own, hooks) = own.into_policy(timer);
        (ClassPolicy { own, lent }, hooks)
    }
}

/// A [`ClassDelay`] as the policy of a race.
#[derive(Clone)]
pub struct ClassPolicy {
    own: AdaptiveDelay<Arc<Adaptive>>,
    lent: Option<Duration>,
}

impl Policy for ClassPolicy {
    fn delay(&mut self, index: usize, cause: Cause) -> Option<Duration> {
        let lent = self.lent.filter(|_| index == 1);
        lent.or_else(|| self.own.delay(index, cause))
    }
}

impl fmt::Debug for ClassPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClassPolicy")
            .field("lent", &self.lent)
            .finish_non_exhaustive()
    }
}
