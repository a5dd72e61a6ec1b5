use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use hdrhistogram::Histogram;

use super::Quantiles;

/// Counts and times of a running load.
#[derive(Debug)]
pub struct LoadTally {
    done: AtomicU64,
    early: AtomicU64,
    again: AtomicU64,
    /// Nanoseconds.
    times: Mutex<Histogram<u64>>,
}

impl LoadTally {
    /// Creates an empty tally.
    #[must_use]
    pub fn new() -> Self {
        const DIGITS: u8 = 3;
        /// One hour in nanoseconds. Longer times count as one hour.
        const LONGEST: u64 = 3_600_000_000_000;
        let times = Histogram::new_with_max(LONGEST, DIGITS).expect("the bounds are valid");
        Self {
            done: AtomicU64::new(0),
            early: AtomicU64::new(0),
            again: AtomicU64::new(0),
            times: Mutex::new(times),
        }
    }

    /// The number of tasks that are done.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done.load(Relaxed)
    }

    /// The number of tasks that were delivered before their time; 0 unless the server is defective.
    #[must_use]
    pub fn early(&self) -> u64 {
        self.early.load(Relaxed)
    }

    /// The number of redeliveries.
    #[must_use]
    pub fn again(&self) -> u64 {
        self.again.load(Relaxed)
    }

    /// The quantiles of the times so far.
    #[must_use]
    pub fn quantiles(&self) -> Quantiles {
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        let at = |quantile| Duration::from_nanos(times.value_at_quantile(quantile));
        Quantiles {
            p50: at(0.5),
            p99: at(0.99),
            max: Duration::from_nanos(times.max()),
        }
    }

    /// Counts finished tasks and records their times in nanoseconds. Drains `nanos`.
    pub(super) fn record(&self, nanos: &mut Vec<u64>) {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        self.done.fetch_add(nanos.len() as u64, Relaxed);
        for nanos in nanos.drain(..) {
            times.saturating_record(nanos);
        }
    }

    pub(super) fn count_early(&self) {
        self.early.fetch_add(1, Relaxed);
    }

    pub(super) fn count_again(&self) {
        self.again.fetch_add(1, Relaxed);
    }
}

impl Default for LoadTally {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_recorded_times() {
        let tally = LoadTally::new();
        tally.record(&mut (1..=1_000).map(|millis| millis * 1_000_000).collect());
        assert_eq!(tally.done(), 1_000);
        let Quantiles { p50, p99, max } = tally.quantiles();
        for (got, wanted) in [(p50, 500.0), (p99, 990.0), (max, 1_000.0)] {
            let ratio = got.as_secs_f64() * 1_000.0 / wanted;
            assert!((0.998..1.002).contains(&ratio), "{got:?}");
        }
    }
}
