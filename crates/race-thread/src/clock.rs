//! Moments of this process: nanoseconds since an epoch that lies before any of them.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

use race_core::Moment;

/// What time it is.
#[cfg(not(loom))]
pub(crate) fn now() -> Moment {
    moment(Instant::now())
}

/// Saturates: what is before the epoch is the epoch.
pub(crate) fn moment(instant: Instant) -> Moment {
    Moment::ZERO + instant.saturating_duration_since(epoch())
}

/// As long before its first use as the platform can express, up to 17 years, so that an instant that was
/// taken before then is still after it.
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
