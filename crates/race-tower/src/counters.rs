use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use race_core::observe::{Counters, Counts, Event, Observer};

use crate::tally::{Counted, Tally};

/// The number of attempts of a request whose wins are counted one by one.
const INDICES: usize = 8;

/// An observer that counts what hedging does to the requests of one service, under a label.
///
/// Clones count together. It counts all that [`Counters`] do, and more; it takes no lock.
///
/// ```
/// # use std::time::Duration;
/// use race_tower::{HedgeCounters, HedgeLayer};
///
/// let counters = HedgeCounters::new("search");
/// let layer = HedgeLayer::new(Duration::from_millis(50)).observer(counters.clone());
/// assert_eq!(counters.counts().to_string(), "search: 0 saved, 0 races, 0 attempts (0 extra, 0.0 %), \
///                                            0 won (0 by an extra attempt)");
/// ```
#[derive(Clone, Debug)]
pub struct HedgeCounters {
    shared: Arc<Shared>,
    request: Tally,
}

#[derive(Debug)]
struct Shared {
    label: String,
    counters: Counters,
    /// Wins by index; the last one is that of all further indices.
    won: [AtomicU64; INDICES],
    saved: AtomicU64,
}

/// The numbers of [`HedgeCounters`] at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HedgeCounts {
    /// The label of the counters.
    pub label: String,
    /// Requests, attempts, wins, failures, refusals.
    pub counts: Counts,
    /// Wins by the index of the attempt; the last element counts all further indices.
    pub won: [u64; INDICES],
    /// Requests that were answered before they were hedged.
    pub saved: u64,
}

impl HedgeCounters {
    /// Creates counters that are all zero.
    #[must_use]
    pub fn new(label: impl Into<String>) -> Self {
        let shared = Shared {
            label: label.into(),
            counters: Counters::new(),
            won: Default::default(),
            saved: AtomicU64::new(0),
        };
        Self {
            shared: Arc::new(shared),
            request: Tally::default(),
        }
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn counts(&self) -> HedgeCounts {
        let shared = &*self.shared;
        HedgeCounts {
            label: shared.label.clone(),
            counts: shared.counters.counts(),
            won: shared.won.each_ref().map(|won| won.load(Ordering::Relaxed)),
            saved: shared.saved.load(Ordering::Relaxed),
        }
    }
}

impl Observer for HedgeCounters {
    fn observe(&mut self, event: Event) {
        let shared = &*self.shared;
        (&shared.counters).observe(event);
        // Relaxed, because no other memory depends on the counts.
        self.request.observe(event, |counted| match counted {
            Counted::Won(index) => {
                shared.won[index.min(INDICES - 1)].fetch_add(1, Ordering::Relaxed);
            }
            Counted::Saved => {
                shared.saved.fetch_add(1, Ordering::Relaxed);
            }
            _ => {} // the counters of the core have it
        });
    }
}

impl fmt::Display for HedgeCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} saved, {}", self.label, self.saved, self.counts)
    }
}
