use std::{fmt, sync::Arc, time::Duration};

use race_core::{Adaptive, Timer};

use crate::{ClassDelay, Delays, ReadClass};

/// Learnt delays: an [`Adaptive`] for each [`ReadClass`].
///
/// Each has the budget of its `Adaptive`: its target share of the reads of its class. These budgets
/// limit hedges; fail-overs after an error are free. To limit those, set a
/// [`budget`](crate::GenericHedgedStore::budget) as well.
///
/// Few reads are of a rare class. Until it has warmed up, the second attempt of its reads starts
/// after the delay of the nearest larger class of the same operation that has warmed up, if there
/// is one, and else after its [`initial`](Adaptive::initial) delay. A lent delay is kept within the
/// floor and the ceiling of the class that uses it. A smaller class, which may be much faster,
/// never lends its delay. The classes of GETs are larger than that of `head`. Further attempts, the
/// samples and the budget are those of the class itself.
///
/// A body stalls if it has no byte for this delay, which is that of a whole request to its first
/// byte. A continuation of a body is a hedge, and a sample.
///
/// A clone shares them, so several stores can learn together. They take about 350 kB.
///
/// ```
/// use std::time::Duration;
/// use object_store::memory::InMemory;
/// use race_core::Adaptive;
/// use race_object_store::{AdaptiveDelays, HedgedStore, ReadClass};
///
/// // Hedges the slowest 3 % of the reads of each class, but no `head` within its first 20 ms.
/// let delays = AdaptiveDelays::new(|class| {
///     let floor = if class == ReadClass::Head { 20 } else { 0 };
///     Adaptive::extra_load(3.0)
///         .floor(Duration::from_millis(floor))
///         .ceiling(Duration::from_secs(1))
/// });
/// let store = HedgedStore::new(InMemory::new(), delays.clone());
/// assert_eq!(delays.of(ReadClass::Head).samples(), 0);
/// ```
#[derive(Clone)]
pub struct AdaptiveDelays(Arc<[Arc<Adaptive>; ReadClass::ALL.len()]>);

impl AdaptiveDelays {
    /// Learns with the `Adaptive` that `make` returns for each class.
    pub fn new(mut make: impl FnMut(ReadClass) -> Adaptive) -> Self {
        Self(Arc::new(ReadClass::ALL.map(|class| Arc::new(make(class)))))
    }

    /// Spends `percent` further attempts for each hundred reads: see [`Adaptive::extra_load`].
    ///
    /// There is no ceiling: if reads hang, set one with [`new`](Self::new).
    #[must_use]
    pub fn extra_load(percent: f64) -> Self {
        Self::new(|_| Adaptive::extra_load(percent))
    }

    /// Returns the delay of the nearest larger class that has warmed up and hedges at all.
    fn learnt_above(&self, class: ReadClass) -> Option<Duration> {
        let larger = class.larger().map(|class| self.of(class));
        let mut warm = larger.filter(|adaptive| !adaptive.is_warming_up());
        warm.find_map(|adaptive| adaptive.delay())
    }

    /// Returns what is learnt about a class.
    #[must_use]
    pub fn of(&self, class: ReadClass) -> &Arc<Adaptive> {
        &self.0[class.position()]
    }
}

impl<T: Timer + Clone + Send> Delays<T> for AdaptiveDelays {
    type Delay = ClassDelay;

    fn delay(&self, class: ReadClass) -> ClassDelay {
        let own = self.of(class);
        let lent = match own.is_warming_up() {
            true => self.learnt_above(class).map(|lent| own.clamp(lent)),
            false => None,
        };
        ClassDelay::new(own.clone(), lent)
    }
}

/// Shows the delay of each class that has one.
impl fmt::Debug for AdaptiveDelays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let delays = ReadClass::ALL.map(|class| (class, self.of(class).delay()));
        let learnt = delays
            .iter()
            .filter_map(|(class, delay)| Some((class, (*delay)?)));
        f.write_str("AdaptiveDelays ")?;
        f.debug_map().entries(learnt).finish()
    }
}
