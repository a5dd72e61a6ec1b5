#[cfg(target_has_atomic = "ptr")]
use alloc::sync::Arc;
use core::time::Duration;

use super::{Counts, Observer};
use crate::{
    observe::{Cause, Event, EventKind, Refusal},
    sync::{AtomicUsize, Ordering},
};

/// The resolution of the wasted time: fine enough for short attempts, coarse enough for the range.
const UNITS_PER_SECOND: u64 = match cfg!(target_pointer_width = "64") {
    true => 1_000_000,
    false => 1_000,
};

/// An observer that counts: how often hedging helped, and what it cost.
///
/// Many races share one `Counters`, by reference or in an `Arc`. It can be a `static`.
/// [`counts`](Self::counts) returns the numbers.
///
/// It takes no lock and allocates nothing. An event costs one or two atomic additions, and the read
/// of the clock that each observed race makes; for a cheaper clock, see `CoarseClock` (feature
/// `coarsetime`).
///
/// ```
/// use std::time::Duration;
/// use race_core::{Race, observe::Counters, test::VirtualClock};
///
/// static HEDGING: Counters = Counters::new();
///
/// let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
/// let attempts = [100, 20].map(|latency| clock.sleep(ms(latency)));
/// let race = Race::at(clock.timer()).of(ms(50), attempts).observer(&HEDGING);
/// clock.run(race.first())?;
///
/// let counts = HEDGING.counts();
/// assert_eq!((counts.races, counts.extra, counts.helped), (1, 1, 1));
/// assert_eq!((counts.cancelled, counts.wasted), (1, ms(70)));
/// # Ok::<(), race_core::test::Deadlock>(())
/// ```
///
/// # Range
///
/// With 64-bit pointers, no count reaches its limit, and each attempt's wasted time is rounded to a
/// microsecond. With 32-bit pointers, the counts wrap around at 2³²; wasted time is rounded to a
/// millisecond and saturates at 49 days.
#[derive(Debug, Default)]
pub struct Counters {
    races: AtomicUsize,
    extra: AtomicUsize,
    failovers: AtomicUsize,
    committed: AtomicUsize,
    wins: AtomicUsize,
    helped: AtomicUsize,
    finished: AtomicUsize,
    failed: AtomicUsize,
    timed_out: AtomicUsize,
    cancelled: AtomicUsize,
    wasted: AtomicUsize,
    delayed_by_max_in_flight: AtomicUsize,
    refused_by_gate: AtomicUsize,
    refused_by_budget: AtomicUsize,
}

impl Counters {
    /// Creates counters that are all zero.
    #[cfg(not(loom))]
    #[must_use]
    pub const fn new() -> Self {
        Self {
            races: AtomicUsize::new(0),
            extra: AtomicUsize::new(0),
            failovers: AtomicUsize::new(0),
            committed: AtomicUsize::new(0),
            wins: AtomicUsize::new(0),
            helped: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
            failed: AtomicUsize::new(0),
            timed_out: AtomicUsize::new(0),
            cancelled: AtomicUsize::new(0),
            wasted: AtomicUsize::new(0),
            delayed_by_max_in_flight: AtomicUsize::new(0),
            refused_by_gate: AtomicUsize::new(0),
            refused_by_budget: AtomicUsize::new(0),
        }
    }

    /// Creates counters that are all zero. Not `const`, because loom's atomics are not.
    #[cfg(loom)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the counts so far.
    ///
    /// Each count is exact. While races run, they are not read at one instant, so two of them may
    /// differ by a few events.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let read = |count: &AtomicUsize| count.load(Ordering::Relaxed) as u64;
        let (races, extra) = (read(&self.races), read(&self.extra));
        let wasted = read(&self.wasted);
        let part = wasted % UNITS_PER_SECOND * (1_000_000_000 / UNITS_PER_SECOND);
        Counts {
            races,
            attempts: races.wrapping_add(extra),
            extra,
            failovers: read(&self.failovers),
            committed: read(&self.committed),
            wins: read(&self.wins),
            helped: read(&self.helped),
            finished: read(&self.finished),
            failed: read(&self.failed),
            timed_out: read(&self.timed_out),
            cancelled: read(&self.cancelled),
            wasted: Duration::from_secs(wasted / UNITS_PER_SECOND) + Duration::from_nanos(part),
            delayed_by_max_in_flight: read(&self.delayed_by_max_in_flight),
            refused_by_gate: read(&self.refused_by_gate),
            refused_by_budget: read(&self.refused_by_budget),
        }
    }

    fn count(&self, event: Event) {
        let is_extra = event.index > 0;
        let number = match event.kind {
            EventKind::Started if is_extra => {
                if event.cause == Cause::Failure {
                    add(&self.failovers, 1);
                }
                &self.extra
            }
            EventKind::Started => &self.races,
            EventKind::Committed => &self.committed,
            EventKind::Won => {
                if is_extra {
                    add(&self.helped, 1);
                }
                &self.wins
            }
            EventKind::Finished => &self.finished,
            EventKind::Failed => &self.failed,
            EventKind::TimedOut => &self.timed_out,
            EventKind::Cancelled => {
                self.waste(event.ran);
                &self.cancelled
            }
            EventKind::Refused(Refusal::MaxInFlight) => &self.delayed_by_max_in_flight,
            EventKind::Refused(Refusal::Gate) => &self.refused_by_gate,
            EventKind::Refused(Refusal::Budget) => &self.refused_by_budget,
            // The race reports no event for these.
            EventKind::Refused(
                Refusal::MaxAttempts | Refusal::Verdict | Refusal::Deadline | Refusal::Policy,
            ) => return,
        };
        add(number, 1);
    }

    fn waste(&self, ran: Duration) {
        let unit = 1_000_000_000 / u128::from(UNITS_PER_SECOND);
        let units = (ran.as_nanos() + unit / 2) / unit;
        let units = usize::try_from(units).unwrap_or(usize::MAX);
        let more = |wasted: usize| Some(wasted.saturating_add(units));
        let order = Ordering::Relaxed;
        let _before = self.wasted.fetch_update(order, order, more);
    }
}

/// Relaxed, because no other memory depends on the counts.
fn add(count: &AtomicUsize, more: usize) {
    count.fetch_add(more, Ordering::Relaxed);
}

impl Observer for &Counters {
    fn observe(&mut self, event: Event) {
        self.count(event);
    }
}

/// Needs a target with compare-and-swap, as [`Arc`] does. Elsewhere, share `&Counters`.
#[cfg(target_has_atomic = "ptr")]
impl Observer for Arc<Counters> {
    fn observe(&mut self, event: Event) {
        self.count(event);
    }
}

/// As for [`Arc`].
#[cfg(target_has_atomic = "ptr")]
impl Observer for &Arc<Counters> {
    fn observe(&mut self, event: Event) {
        self.count(event);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
