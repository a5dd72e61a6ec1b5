//! Wall-clock and monotonic time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use race_wheel::Tick;

/// One moment on two clocks: the wall clock, which may be set and may step, and a monotonic one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Now {
    /// Nanoseconds since the Unix epoch.
    pub wall_nanos: u64,
    /// Monotonic time in nanoseconds since an arbitrary epoch of the clock.
    pub monotonic: Tick,
}

impl Now {
    /// Returns Unix milliseconds, rounded down, so that a task compared with it is never early.
    #[must_use]
    pub(crate) const fn wall_millis(self) -> u64 {
        self.wall_nanos / 1_000_000
    }

    /// Returns wall-clock time minus monotonic time. It changes only when the wall clock is set.
    #[must_use]
    pub(crate) fn offset(self) -> i128 {
        i128::from(self.wall_nanos) - i128::from(self.monotonic.value())
    }

    /// Returns the monotonic time `duration` from now.
    #[must_use]
    pub(crate) fn after(self, duration: Duration) -> Tick {
        self.monotonic + nanos(duration)
    }

    /// Converts `wall_millis` to monotonic time, assuming that the wall clock is not set until
    /// then. A past time becomes now.
    #[must_use]
    pub(crate) fn tick_of(self, wall_millis: u64) -> Tick {
        let ahead = wall_millis
            .saturating_mul(1_000_000)
            .saturating_sub(self.wall_nanos);
        self.monotonic + ahead
    }
}

/// Converts a duration to ticks of monotonic time. Saturates.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The clocks of the operating system. The threads of a server share one epoch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    epoch: Instant,
}

impl Clock {
    /// Creates a clock whose monotonic epoch is now.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self {
            epoch: Instant::now(),
        }
    }

    /// Returns the current time.
    #[must_use]
    pub(crate) fn now(self) -> Now {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Now {
            wall_nanos: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
            monotonic: Tick::new(nanos(self.epoch.elapsed())),
        }
    }
}
