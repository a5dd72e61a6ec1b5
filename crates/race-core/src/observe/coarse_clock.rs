use coarsetime::Instant;

use crate::{Moment, observe::Clock};

/// A clock for observers that is several times cheaper to read than the exact one.
///
/// It returns the time of the system's latest tick: up to 4 ms ago on most Linux systems (1 to 10
/// ms, depending on the kernel's configuration), up to 16 ms on Windows. It needs no background
/// thread.
///
/// Only events carry its times: the race's timer still decides when an attempt starts or ends. So
/// durations of attempts are rounded, and counts stay exact.
///
/// It is monotonic on Linux, Android, macOS, FreeBSD, DragonFly and Windows. On other Unix systems
/// the crate `coarsetime` reads the time of day, which may be set back; a duration that would be
/// negative is reported as zero. All values share one epoch.
///
/// ```
/// use std::time::Duration;
/// use race_core::{Race, observe::{CoarseClock, Counters}};
/// # let clock = race_core::test::VirtualClock::new();
///
/// static HEDGING: Counters = Counters::new();
///
/// # let (timer, attempts) = (clock.timer(), [async { 7 }]);
/// let race = Race::at(timer).of(Duration::from_millis(50), attempts)
///     .observer_with(CoarseClock::default(), &HEDGING);
/// # clock.run(race.first()).unwrap().unwrap();
/// # assert_eq!(HEDGING.counts().wins, 1);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CoarseClock;

impl Clock for CoarseClock {
    #[inline]
    fn read(&self) -> Moment {
        // `Instant::now` also writes to a cache that all threads share, which nothing reads here.
        let now = Instant::now_without_cache_update();
        Moment::from_nanos(now.duration_since(Instant::from_ticks(0)).as_nanos())
    }
}

#[cfg(test)]
mod tests;
