use std::time::Duration;

use race_wheel::Tick;

use crate::clock::Now;

/// How often the low-water mark on disk is raised.
const INTERVAL: Duration = Duration::from_secs(10);

/// The time before which nothing waits on disk, as it was last reported to the ledger.
#[derive(Debug)]
pub(super) struct ReportedLowWater {
    /// Unix milliseconds.
    at: u64,
    next: Tick,
}

impl ReportedLowWater {
    pub(super) const fn new(at: u64, now: Now) -> Self {
        Self {
            at,
            next: now.monotonic,
        }
    }

    /// Whether it is time to look for a new mark; if so, the next time is an interval later.
    pub(super) fn is_due(&mut self, now: Now) -> bool {
        let is_due = now.monotonic >= self.next;
        if is_due {
            self.next = now.after(INTERVAL);
        }
        is_due
    }

    /// Raises the mark. Returns whether it is higher than the last one.
    pub(super) const fn raise(&mut self, to: u64) -> bool {
        let is_higher = to > self.at;
        if is_higher {
            self.at = to;
        }
        is_higher
    }
}
