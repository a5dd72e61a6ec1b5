use alloc::boxed::Box;
use core::{
    iter,
    sync::atomic::{AtomicU32, Ordering},
};

use super::rule::LONGEST;

/// Each power of two has 2^6 buckets.
const PRECISION: u32 = 6;

const PER_POWER: usize = 1 << PRECISION;

/// The number of buckets.
pub(super) const BUCKETS: usize = index(LONGEST) + 1;

/// Counts of samples in buckets that are linear within each power of two, so the width of a bucket
/// is at most 1/64 of its values.
///
/// Times are in nanoseconds, from 0 to [`LONGEST`]. Those below 2^7 have a bucket each. Of a longer
/// one the highest seven bits count. They and the number of bits that are cut off make the index: it
/// grows by 64 with each power of two, and by one from bucket to bucket. This is the layout of
/// HdrHistogram (G. Tene).
///
/// Recording takes no lock, and no count is lost: a count is taken out in one step.
pub(super) struct Buckets(Box<[AtomicU32]>);

impl Buckets {
    pub(super) fn new() -> Self {
        Self(
            iter::repeat_with(AtomicU32::default)
                .take(BUCKETS)
                .collect(),
        )
    }

    /// Counts a time; longer ones count as [`LONGEST`].
    pub(super) fn record(&self, nanos: u64) {
        // The caller's counter publishes this.
        self.0[index(nanos.min(LONGEST))].fetch_add(1, Ordering::Relaxed);
    }

    /// Takes the counts out and adds each to the weight of its bucket.
    pub(super) fn drain_into(&self, weights: &mut [f32]) {
        for (count, weight) in iter::zip(&self.0, weights) {
            // Most are zero, and a load is much cheaper than a swap.
            if count.load(Ordering::Relaxed) != 0 {
                *weight += count.swap(0, Ordering::Relaxed) as f32;
            }
        }
    }
}

/// Returns the bucket of a time of at most [`LONGEST`].
const fn index(nanos: u64) -> usize {
    let cut = match nanos.checked_ilog2() {
        Some(power) => power.saturating_sub(PRECISION),
        None => 0,
    };
    cut as usize * PER_POWER + (nanos >> cut) as usize
}

/// Returns the longest time in a bucket.
pub(super) const fn end(index: usize) -> u64 {
    let cut = (index / PER_POWER).saturating_sub(1);
    let high = index - cut * PER_POWER;
    ((high as u64 + 1) << cut) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_one_another_without_a_gap() {
        let mut start = 0;
        for bucket in 0..BUCKETS {
            assert_eq!((index(start), index(end(bucket))), (bucket, bucket));
            start = end(bucket) + 1;
        }
        assert_eq!(start, LONGEST + 1);
    }

    #[test]
    fn buckets_are_at_most_a_64th_of_their_values_wide() {
        for bucket in 1..BUCKETS {
            let start = end(bucket - 1) + 1;
            assert!(end(bucket) - start <= start / 64, "{bucket}");
        }
    }

    #[test]
    fn known_times_have_their_buckets() {
        assert_eq!(BUCKETS, 2_368);
        for (nanos, bucket, last) in [
            (0, 0, 0),
            (1, 1, 1),
            (127, 127, 127),
            (128, 128, 129),
            (130, 129, 131),
            (1_000, 317, 1_007),
            (1_000_000, 954, 1_007_615),
            (LONGEST, BUCKETS - 1, LONGEST),
        ] {
            assert_eq!((index(nanos), end(bucket)), (bucket, last), "{nanos}");
        }
    }

    #[test]
    fn counts_are_taken_out_once_and_long_times_count_as_the_longest() {
        let buckets = Buckets::new();
        for nanos in [5, 5, LONGEST, LONGEST + 1, u64::MAX] {
            buckets.record(nanos);
        }
        let mut weights = [0.5; BUCKETS];
        for _ in 0..2 {
            buckets.drain_into(&mut weights);
            assert_eq!((weights[4], weights[5]), (0.5, 2.5));
            assert_eq!(weights[BUCKETS - 1], 3.5);
        }
    }
}
