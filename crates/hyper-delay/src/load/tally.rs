use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use hdrhistogram::Histogram;

use super::Quantiles;

/// What was counted up to now.
#[derive(Debug)]
pub struct Tally {
    done: AtomicU64,
    early: AtomicU64,
    again: AtomicU64,
    /// Nanoseconds.
    times: Mutex<Histogram<u64>>,
}

impl Tally {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        const DIGITS: u8 = 3;
        /// An hour, in nanoseconds; what takes longer counts as that.
        const LONGEST: u64 = 3_600_000_000_000;
        let times = Histogram::new_with_max(LONGEST, DIGITS).expect("the bounds are allowed");
        Self {
            done: AtomicU64::new(0),
            early: AtomicU64::new(0),
            again: AtomicU64::new(0),
            times: Mutex::new(times),
        }
    }

    /// How many tasks are done.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done.load(Relaxed)
    }

    /// How many tasks were delivered before their time. There is to be none.
    #[must_use]
    pub fn early(&self) -> u64 {
        self.early.load(Relaxed)
    }

    /// How many deliveries were of a task that had been delivered already.
    #[must_use]
    pub fn again(&self) -> u64 {
        self.again.load(Relaxed)
    }

    /// How long it took.
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

    /// Takes the times, in nanoseconds, of tasks that are done.
    pub(super) fn take(&self, nanos: &mut Vec<u64>) {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        self.done.fetch_add(nanos.len() as u64, Relaxed);
        for nanos in nanos.drain(..) {
            times.saturating_record(nanos);
        }
    }

    pub(super) fn was_early(&self) {
        self.early.fetch_add(1, Relaxed);
    }

    pub(super) fn came_again(&self) {
        self.again.fetch_add(1, Relaxed);
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_what_was_taken() {
        let tally = Tally::new();
        tally.take(&mut (1..=1_000).map(|millis| millis * 1_000_000).collect());
        assert_eq!(tally.done(), 1_000);
        let Quantiles { p50, p99, max } = tally.quantiles();
        for (got, wanted) in [(p50, 500.0), (p99, 990.0), (max, 1_000.0)] {
            let ratio = got.as_secs_f64() * 1_000.0 / wanted;
            assert!((0.998..1.002).contains(&ratio), "{got:?}");
        }
    }
}
