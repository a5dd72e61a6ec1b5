//! Wall-clock and monotonic time.

#[cfg(not(target_os = "linux"))]
use std::time::Instant;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use race_wheel::Tick;

/// One moment on two clocks: the wall clock, which may be set and may step, and a monotonic one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Nanoseconds since the Unix epoch.
    pub wall_nanos: u64,
    /// Monotonic time in nanoseconds since an arbitrary epoch of the clock.
    pub monotonic: Tick,
}

impl Now {
    /// Returns Unix milliseconds, rounded down, so that a task compared with it is never early.
    #[must_use]
    pub const fn wall_millis(self) -> u64 {
        self.wall_nanos / 1_000_000
    }

    /// Returns wall-clock time minus monotonic time. It changes only when the wall clock is set.
    #[must_use]
    pub fn offset(self) -> i128 {
        i128::from(self.wall_nanos) - i128::from(self.monotonic.value())
    }

    /// Returns the monotonic time `duration` from now.
    #[must_use]
    pub fn after(self, duration: Duration) -> Tick {
        self.monotonic + nanos(duration)
    }

    /// Returns the time that is left until then. Zero if it has passed.
    pub(crate) fn time_left(self, until: Tick) -> Duration {
        Duration::from_nanos(until.since(self.monotonic))
    }

    /// Converts `wall_millis` to monotonic time, assuming that the wall clock is not set until
    /// then. A past time becomes now.
    #[must_use]
    pub fn tick_of(self, wall_millis: u64) -> Tick {
        let ahead = wall_millis
            .saturating_mul(1_000_000)
            .saturating_sub(self.wall_nanos);
        self.monotonic + ahead
    }
}

/// Converts a duration to ticks of monotonic time. Saturates.
#[must_use]
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The clocks of the operating system. The threads of a server share one epoch.
///
/// On Linux the monotonic time continues while the machine is suspended, which that of `Instant`
/// does not: a lease of this node ends in the meantime. A wait of a thread does not continue then,
/// so it can end late, and what must not happen late is compared with [`now`](Self::now) again.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    epoch: MonotonicInstant,
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock {
    /// Creates a clock whose monotonic epoch is now.
    #[must_use]
    pub fn new() -> Self {
        Self {
            epoch: MonotonicInstant::now(),
        }
    }

    /// Returns the current time.
    #[must_use]
    pub fn now(self) -> Now {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Now {
            wall_nanos: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
            monotonic: Tick::new(MonotonicInstant::now().since(self.epoch)),
        }
    }
}

/// A moment of the monotonic clock.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy)]
struct MonotonicInstant(u64);

#[cfg(target_os = "linux")]
impl MonotonicInstant {
    fn now() -> Self {
        use rustix::time::{ClockId, clock_gettime};

        let time = clock_gettime(ClockId::Boottime);
        let parts = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
        // No machine has run for centuries, and none started before it did.
        let (seconds, nanos) = (parts.0.unwrap_or_default(), parts.1.unwrap_or_default());
        Self(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
    }

    fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// A moment of the monotonic clock.
#[cfg(not(target_os = "linux"))]
#[derive(Debug, Clone, Copy)]
struct MonotonicInstant(Instant);

#[cfg(not(target_os = "linux"))]
impl MonotonicInstant {
    fn now() -> Self {
        Self(Instant::now())
    }

    fn since(self, earlier: Self) -> u64 {
        nanos(self.0.saturating_duration_since(earlier.0))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::time::{ClockId, clock_gettime};

    use super::*;

    #[test]
    fn monotonic_time_is_that_since_the_machine_has_started() {
        let boot = || {
            let time = Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap();
            nanos(time)
        };
        let before = boot();
        let clock = Clock::new();
        let after = boot();
        let (first, now, last) = (boot(), clock.now().monotonic.value(), boot());
        assert!((first - after..=last - before).contains(&now), "{now}");
    }
}
