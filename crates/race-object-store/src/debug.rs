use std::{
    any::{Any, type_name},
    fmt,
    time::Duration,
};

use crate::GenericHedgedStore;

impl<S: fmt::Debug, T, D: 'static, O> fmt::Debug for GenericHedgedStore<S, T, D, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = &self.options;
        f.debug_struct("HedgedStore")
            .field("inner", &self.inner)
            .field("delays", &DelaysOf(&*self.delays))
            .field("options", &options.race)
            .field("budget", &options.budget)
            .field("classify", &options.classify)
            .field("hedge_bodies", &options.hedge_bodies)
            .finish_non_exhaustive()
    }
}

/// Not all delays are `Debug`: a closure is not. Those are shown by the name of their type.
struct DelaysOf<'a, D>(&'a D);

impl<D: 'static> fmt::Debug for DelaysOf<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let delays: &dyn Any = self.0;
        if let Some(delay) = delays.downcast_ref::<Duration>() {
            return delay.fmt(f);
        }
        #[cfg(feature = "adaptive")]
        if let Some(delays) = delays.downcast_ref::<crate::AdaptiveDelays>() {
            return delays.fmt(f);
        }
        f.write_str(type_name::<D>())
    }
}
