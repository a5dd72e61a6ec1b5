use alloc::sync::Arc;
use core::time::Duration;

use super::{Counts, Observer};
use crate::{
    Event, Suppressed, What,
    sync::{AtomicUsize, Ordering},
};

/// What wasted time is counted in: it must neither run over soon nor lose much of a short attempt.
const UNITS_PER_SECOND: u64 = match cfg!(target_pointer_width = "64") {
    true => 1_000_000,
    false => 1_000,
};

/// Counts what happens in races: how often hedging helped, and what it wasted.
///
/// Races share it by reference, or in an `Arc`; it may be a `static`. It takes no lock and allocates nothing:
/// an event costs one or two additions to an atomic, beside the reading of the clock that an observed race
/// makes anyway. If that is too much, see `CoarseClock`.
///
/// ```
/// use std::time::Duration;
/// use race_core::{Counters, Race, VirtualClock};
///
/// static HEDGING: Counters = Counters::new();
///
/// let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
/// let attempts = [100, 20].map(|latency| clock.sleep(ms(latency)));
/// let race = Race::of_with(clock.timer(), ms(50), attempts).observer_with(clock.clone(), &HEDGING);
/// clock.run(race.first())??;
///
/// let counts = HEDGING.counts();
/// assert_eq!((counts.races, counts.extra, counts.helped), (1, 1, 1));
/// assert_eq!((counts.cancelled, counts.wasted), (1, ms(70)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Range
///
/// On 64 bits nothing runs over. On 32 bits the numbers wrap around at 2³², and the wasted time stops at
/// 49 days; it is counted in milliseconds there, and in microseconds on 64 bits, each attempt's rounded.
#[derive(Debug, Default)]
pub struct Counters {
    races: AtomicUsize,
    extra: AtomicUsize,
    wins: AtomicUsize,
    helped: AtomicUsize,
    finished: AtomicUsize,
    failed: AtomicUsize,
    timed_out: AtomicUsize,
    cancelled: AtomicUsize,
    wasted: AtomicUsize,
    held_by_bound: AtomicUsize,
    stopped_by_gate: AtomicUsize,
    stopped_by_budget: AtomicUsize,
}

impl Counters {
    /// All zero.
    #[cfg(not(loom))]
    #[must_use]
    pub const fn new() -> Self {
        Self {
            races: AtomicUsize::new(0),
            extra: AtomicUsize::new(0),
            wins: AtomicUsize::new(0),
            helped: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
            failed: AtomicUsize::new(0),
            timed_out: AtomicUsize::new(0),
            cancelled: AtomicUsize::new(0),
            wasted: AtomicUsize::new(0),
            held_by_bound: AtomicUsize::new(0),
            stopped_by_gate: AtomicUsize::new(0),
            stopped_by_budget: AtomicUsize::new(0),
        }
    }

    /// All zero. Loom's atomics are made at run time.
    #[cfg(loom)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What has been counted so far.
    ///
    /// Each number is exact. Together they may be a few events apart while races run.
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
            wins: read(&self.wins),
            helped: read(&self.helped),
            finished: read(&self.finished),
            failed: read(&self.failed),
            timed_out: read(&self.timed_out),
            cancelled: read(&self.cancelled),
            wasted: Duration::from_secs(wasted / UNITS_PER_SECOND) + Duration::from_nanos(part),
            held_by_bound: read(&self.held_by_bound),
            stopped_by_gate: read(&self.stopped_by_gate),
            stopped_by_budget: read(&self.stopped_by_budget),
        }
    }

    fn count(&self, event: Event) {
        let is_extra = event.place > 0;
        let number = match event.what {
            What::Started if is_extra => &self.extra,
            What::Started => &self.races,
            What::Won => {
                if is_extra {
                    add(&self.helped, 1);
                }
                &self.wins
            }
            What::Finished => &self.finished,
            What::Failed => &self.failed,
            What::TimedOut => &self.timed_out,
            What::Cancelled => {
                self.waste(event.ran);
                &self.cancelled
            }
            What::Suppressed(Suppressed::Bound) => &self.held_by_bound,
            What::Suppressed(Suppressed::Gate) => &self.stopped_by_gate,
            What::Suppressed(Suppressed::Budget) => &self.stopped_by_budget,
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

// The counts guard no other memory, so no order is needed.
fn add(count: &AtomicUsize, more: usize) {
    count.fetch_add(more, Ordering::Relaxed);
}

impl Observer for &Counters {
    fn observe(&mut self, event: Event) {
        self.count(event);
    }
}

impl Observer for Arc<Counters> {
    fn observe(&mut self, event: Event) {
        self.count(event);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::Moment;

    fn event(place: usize, ran: Duration, what: What) -> Event {
        let at = Moment::ZERO;
        Event {
            place,
            at,
            ran,
            what,
        }
    }

    #[test]
    fn wasted_time_is_rounded_and_stops_at_the_most_it_can_be() {
        let counters = Counters::new();
        let mut observer = &counters;
        let mut cancel = |ran| {
            observer.observe(event(1, ran, What::Cancelled));
            counters.counts().wasted
        };
        assert_eq!(
            cancel(Duration::from_millis(3_000_017)).as_millis(),
            3_000_017
        );
        cancel(Duration::MAX);
        let most = cancel(Duration::MAX);
        assert_eq!(cancel(Duration::from_secs(1)), most);
        assert_eq!(
            most.as_micros() / 1_000,
            usize::MAX as u128 * 1_000 / u128::from(UNITS_PER_SECOND)
        );
        assert_eq!(counters.counts().cancelled, 4);
    }

    #[test]
    fn threads_share_it_and_nothing_is_lost() {
        let counters = Arc::new(Counters::new());
        std::thread::scope(|scope| {
            for place in 0..4 {
                let mut observer = Arc::clone(&counters);
                scope.spawn(move || {
                    for _ in 0..1_000 {
                        observer.observe(event(place, Duration::ZERO, What::Started));
                        observer.observe(event(place, Duration::ZERO, What::Won));
                    }
                });
            }
        });
        let counts = counters.counts();
        assert_eq!(
            (counts.races, counts.extra, counts.attempts),
            (1_000, 3_000, 4_000)
        );
        assert_eq!((counts.wins, counts.helped), (4_000, 3_000));
    }
}
