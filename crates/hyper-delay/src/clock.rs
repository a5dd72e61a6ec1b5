//! Time, by the wall and monotonic.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use race_wheel::Tick;

/// What time it is, twice: by the wall, which people set and which may step, and monotonic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Nanoseconds since the Unix epoch.
    pub wall_nanos: u64,
    /// Monotonic time: nanoseconds since an epoch of the clock's own.
    pub monotonic: Tick,
}

impl Now {
    /// Unix milliseconds, rounded down: so what is compared with it is never early.
    #[must_use]
    pub const fn wall_millis(self) -> u64 {
        self.wall_nanos / 1_000_000
    }

    /// How far the wall is ahead of monotonic time. It changes when, and only when, the wall clock is set.
    #[must_use]
    pub fn offset(self) -> i128 {
        i128::from(self.wall_nanos) - i128::from(self.monotonic.value())
    }

    /// The point in monotonic time that is `duration` later.
    #[must_use]
    pub fn after(self, duration: Duration) -> Tick {
        self.monotonic + nanos(duration)
    }

    /// When `wall_millis` will be, by monotonic time, if nobody sets the clock. What has passed is now.
    #[must_use]
    pub fn tick_of(self, wall_millis: u64) -> Tick {
        let ahead = wall_millis
            .saturating_mul(1_000_000)
            .saturating_sub(self.wall_nanos);
        self.monotonic + ahead
    }
}

/// A duration in ticks of monotonic time. Saturates.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Where the server has its time from: the system, or a test.
pub trait Clock: Send + Sync + 'static {
    /// The time.
    fn now(&self) -> Now;
}

/// The clock of the system.
#[derive(Debug)]
pub struct SystemClock {
    epoch: Instant,
}

impl SystemClock {
    /// Its monotonic epoch is now.
    #[must_use]
    pub fn new() -> Self {
        Self {
            epoch: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Now {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Now {
            wall_nanos: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
            monotonic: Tick::new(nanos(self.epoch.elapsed())),
        }
    }
}
