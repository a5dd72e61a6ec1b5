//! Moments of this process: nanoseconds since an epoch that precedes all of them.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

use race_core::Moment;

/// Returns the current time.
#[cfg(not(loom))]
pub(crate) fn now() -> Moment {
    moment(Instant::now())
}

/// Converts an instant. An instant before the epoch becomes the epoch.
pub(crate) fn moment(instant: Instant) -> Moment {
    Moment::ZERO + instant.saturating_duration_since(epoch())
}

/// The first use of the clock, less up to 17 years (as much as the platform can express), so that
/// it precedes instants that were taken earlier.
fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(|| {
        let now = Instant::now();
        let seconds = (0..30).rev().map(|bits| 1 << bits);
        let mut before = seconds.map(Duration::from_secs);
        before
            .find_map(|before| now.checked_sub(before))
            .unwrap_or(now)
    })
}
