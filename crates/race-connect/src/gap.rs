use std::{net::SocketAddr, time::Duration};

use race_core::Moment;

/// The Minimum Connection Attempt Delay (RFC 8305, section 5): the least time between two starts.
///
/// The RFC protects the network and the host from bursts. Loopback addresses are exempt: they reach
/// neither, and a host often refuses one family of `localhost`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    minimum: Duration,
    latest_start: Option<Moment>,
}

impl Gap {
    pub(crate) fn new(minimum: Duration) -> Self {
        Self {
            minimum,
            latest_start: None,
        }
    }

    /// Returns when an attempt of this address may start, if that is not yet at `now`.
    pub(crate) fn until(&self, address: SocketAddr, now: Moment) -> Option<Moment> {
        let allowed = self.latest_start? + self.minimum;
        let is_exempt = address.ip().to_canonical().is_loopback();
        (allowed > now && !is_exempt).then_some(allowed)
    }

    pub(crate) fn started(&mut self, now: Moment) {
        self.latest_start = Some(now);
    }
}
