use std::time::Duration;

use super::Counter;

/// The bounds of histograms of time, in microseconds: 100 µs to an hour.
const TIMES: [u64; 20] = [
    100,
    200,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    30_000_000,
    60_000_000,
    300_000_000,
    3_600_000_000,
];

/// The bounds of the numbers of jobs: up to a full group.
const JOBS: [u64; 13] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096];

/// Counts values by size.
#[derive(Debug)]
pub struct Histogram {
    /// The largest value of each bucket but the last, which takes all others.
    bounds: &'static [u64],
    buckets: Box<[Counter]>,
    sum: Counter,
    /// The values that make one of the shown unit.
    per_unit: f64,
}

impl Histogram {
    /// A histogram of microseconds, shown in seconds.
    pub(super) fn of_seconds() -> Self {
        Self::new(&TIMES, 1e6)
    }

    /// A histogram of numbers of jobs.
    pub(super) fn of_jobs() -> Self {
        Self::new(&JOBS, 1.0)
    }

    fn new(bounds: &'static [u64], per_unit: f64) -> Self {
        Self {
            bounds,
            buckets: (0..=bounds.len()).map(|_| Counter::default()).collect(),
            sum: Counter::default(),
            per_unit,
        }
    }

    /// Counts a value, in the unit of the bounds.
    pub fn observe(&self, value: u64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        self.buckets[bucket].add(1);
        self.sum.add(value);
    }

    /// Observes a time of a histogram of microseconds.
    pub fn observe_time(&self, time: Duration) {
        self.observe(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    /// Returns the sum of all values in the shown unit.
    pub(super) fn sum(&self) -> f64 {
        self.sum.value() as f64 / self.per_unit
    }

    /// Returns the upper bound and the number of values of each bucket, without those of lower
    /// buckets.
    pub(super) fn buckets(&self) -> Vec<(f64, u64)> {
        let bounds = self
            .bounds
            .iter()
            .map(|bound| *bound as f64 / self.per_unit);
        let counts = self.buckets.iter().map(Counter::value);
        bounds.chain([f64::INFINITY]).zip(counts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_the_bucket_that_it_ends() {
        let jobs = Histogram::of_jobs();
        for value in [0, 1, 2, 3, 4, 4_096, 4_097, 1 << 40] {
            jobs.observe(value);
        }
        let filled = jobs.buckets().into_iter().filter(|(_, count)| *count > 0);
        let expected = [
            (1.0, 2),
            (2.0, 1),
            (4.0, 2),
            (4_096.0, 1),
            (f64::INFINITY, 2),
        ];
        assert!(filled.eq(expected));
        assert_eq!(jobs.sum(), (10 + 4_096 + 4_097 + (1_u64 << 40)) as f64);
    }

    #[test]
    fn times_are_shown_in_seconds() {
        let times = Histogram::of_seconds();
        times.observe_time(Duration::from_millis(1_500));
        let filled = times.buckets().into_iter().filter(|(_, count)| *count > 0);
        assert!(filled.eq([(2.0, 1)]));
        assert_eq!((times.sum(), times.buckets()[0].0), (1.5, 0.0001));
    }
}
