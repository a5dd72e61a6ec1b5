//! The times of a session.

use std::time::Duration;

use hyper_delay_engine::clock::nanos;

/// The times of a session, in nanoseconds. They follow from the lease.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionTimes {
    /// A leader that is silent for this long is given up.
    pub(super) lease: u64,
    /// A leader that does not answer the request for a session in this time is asked again.
    pub(super) answer: u64,
    /// The interval of pings, which ask a leader for how long its leadership holds.
    pub(super) ping: u64,
    /// The pause before a leader is asked again.
    pub(super) pause: u64,
}

impl SessionTimes {
    pub(super) fn new(lease: Duration) -> Self {
        Self {
            lease: nanos(lease),
            answer: nanos(lease / 4),
            ping: nanos(lease / 8),
            pause: nanos(lease / 64),
        }
    }
}
