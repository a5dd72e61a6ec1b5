use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Returns the nanoseconds since `begin`.
pub(super) fn nanos(begin: Instant) -> u64 {
    u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the Unix time in nanoseconds.
pub(super) fn unix_nanos() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(now.unwrap_or_default().as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the Unix time `ahead` from now, in milliseconds.
pub(super) fn unix_millis(ahead: Duration) -> u64 {
    unix_nanos() / 1_000_000 + u64::try_from(ahead.as_millis()).unwrap_or(u64::MAX / 2)
}
