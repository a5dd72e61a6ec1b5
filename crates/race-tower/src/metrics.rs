use std::fmt;

use metrics::{Counter, counter};
use race_core::observe::{Cause, Event, Observer, Refusal};

use crate::tally::{Counted, Tally};

/// The number of attempts of a request whose wins are counted one by one.
const INDICES: usize = 8;

const INDEX: [&str; INDICES] = ["0", "1", "2", "3", "4", "5", "6", "7+"];

/// An observer that feeds counters of the facade [`metrics`].
///
/// | counter | label beside `service` |
/// | --- | --- |
/// | `hedge_attempts_total` | `cause`: `first`, `delay` (a hedge), `failure`, `idle` |
/// | `hedge_won_total` | `index` of the attempt: `0` to `6`, `7+` |
/// | `hedge_saved_total`: requests that were answered before they were hedged | |
/// | `hedge_failed_total` | `by`: `error`, `timeout` |
/// | `hedge_cancelled_total` | |
/// | `hedge_refused_total` | `by`: `budget`, `max_in_flight` |
///
/// Install the recorder before: the counters are registered once, by [`new`](Self::new).
#[derive(Clone)]
pub struct Metrics {
    started: [Counter; 4],
    won: [Counter; INDICES],
    saved: Counter,
    failed: Counter,
    timed_out: Counter,
    cancelled: Counter,
    refused_by_budget: Counter,
    refused_by_max_in_flight: Counter,
    request: Tally,
}

impl Metrics {
    /// Registers the counters of a service.
    #[must_use]
    pub fn new(service: impl Into<String>) -> Self {
        let service = service.into();
        let plain = |name: &'static str| counter!(name, "service" => service.clone());
        let labelled = |name: &'static str, key: &'static str, value: &'static str| counter!(name, "service" => service.clone(), key => value);
        let failed = |by| labelled("hedge_failed_total", "by", by);
        let refused = |by| labelled("hedge_refused_total", "by", by);
        Self {
            started: ["first", "delay", "failure", "idle"]
                .map(|cause| labelled("hedge_attempts_total", "cause", cause)),
            won: INDEX.map(|index| labelled("hedge_won_total", "index", index)),
            saved: plain("hedge_saved_total"),
            failed: failed("error"),
            timed_out: failed("timeout"),
            cancelled: plain("hedge_cancelled_total"),
            refused_by_budget: refused("budget"),
            refused_by_max_in_flight: refused("max_in_flight"),
            request: Tally::default(),
        }
    }

    fn counter(&self, counted: Counted) -> Option<&Counter> {
        Some(match counted {
            Counted::Started(Cause::First) => &self.started[0],
            Counted::Started(Cause::Delay) => &self.started[1],
            Counted::Started(Cause::Failure) => &self.started[2],
            Counted::Started(_) => &self.started[3],
            Counted::Won(index) => &self.won[index.min(INDICES - 1)],
            Counted::Saved => &self.saved,
            Counted::Failed => &self.failed,
            Counted::TimedOut => &self.timed_out,
            Counted::Cancelled => &self.cancelled,
            Counted::Refused(Refusal::Budget) => &self.refused_by_budget,
            Counted::Refused(Refusal::MaxInFlight) => &self.refused_by_max_in_flight,
            Counted::Refused(_) => return None,
        })
    }
}

impl Observer for Metrics {
    fn observe(&mut self, event: Event) {
        let mut request = self.request;
        request.observe(event, |counted| {
            if let Some(counter) = self.counter(counted) {
                counter.increment(1);
            }
        });
        self.request = request;
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
