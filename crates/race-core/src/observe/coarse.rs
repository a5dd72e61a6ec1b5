use coarsetime::Instant;

use crate::{Clock, Moment};

/// The clock of the system's ticks, for observers: several times cheaper to read than the exact one.
///
/// It needs no thread that keeps it up to date. What it shows is the time of the latest tick: up to 4 ms ago on
/// most Linux systems (1 to 10, as the kernel was built), up to 16 on Windows. All clocks of this kind
/// share one epoch, the system's start.
///
/// It tells observers when something happened, and never decides a deadline: those are the timer's. So the times
/// of short attempts are rounded, and what is counted stays exact.
///
/// It is monotonic on Linux, Android, macOS, FreeBSD, DragonFly and Windows. On other Unixes the crate
/// `coarsetime` reads the time of day, which may be set back; a span that goes backwards is then seen as zero.
///
/// ```
/// use std::time::Duration;
/// use race_core::{CoarseClock, Counters, Race};
/// # let clock = race_core::VirtualClock::new();
///
/// static HEDGING: Counters = Counters::new();
///
/// # let (timer, attempts) = (clock.timer(), [async { 7 }]);
/// let race = Race::of_with(timer, Duration::from_millis(50), attempts)
///     .observer_with(CoarseClock::default(), &HEDGING);
/// # clock.run(race.first()).unwrap().unwrap();
/// # assert_eq!(HEDGING.counts().wins, 1);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CoarseClock;

impl Clock for CoarseClock {
    #[inline]
    fn now(&self) -> Moment {
        // The other way to ask also writes to a cache that all threads share, and which is not read here.
        let now = Instant::now_without_cache_update();
        Moment::from_nanos(now.duration_since(Instant::from_ticks(0)).as_nanos())
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::{thread, time::Instant};

    use super::*;

    #[test]
    fn it_goes_on_by_itself_and_not_faster_than_the_exact_clock() {
        let (exact, coarse) = (Instant::now(), CoarseClock);
        let began = coarse.now();
        let mut before = began;
        while before == began {
            thread::sleep(Duration::from_millis(1));
            let now = coarse.now();
            assert!(now >= before);
            before = now;
        }
        // A tick of any system is shorter.
        let tick = Duration::from_millis(100);
        assert!(before.since(began) <= exact.elapsed() + tick);
    }
}
