use alloc::{boxed::Box, vec};
use core::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};
use std::sync::{Mutex, MutexGuard, TryLockError};

use histogram::{AtomicHistogram32, Config, Histogram32};

use super::survival;

/// Buckets of nanoseconds: 64 for each power of two, so each is at most a 64th of its values wide, up to
/// 2^42 ns, 73 minutes.
const BUCKETS: Config = match Config::new(6, 42) {
    Ok(buckets) => buckets,
    Err(_) => panic!("42 is more than 6, and at most 64"),
};

/// The longest that is told apart.
const LONGEST: u64 = (1 << 42) - 1;

/// What weighs less is forgotten, before it is so small that arithmetic is slow.
const FORGOTTEN: f32 = 1e-3;

/// Of what the latest samples were: how long an attempt took, or how long at least.
///
/// Recording takes no lock and loses nothing. Every once in a while, the one who records also learns: what
/// was recorded since is added to the weights, under a lock for which nobody waits.
pub(super) struct Samples {
    exact: AtomicHistogram32,
    censored: AtomicHistogram32,
    recorded: AtomicU64,
    weights: Mutex<Weights>,
}

/// What the samples that were learnt from count for now.
pub(super) struct Weights {
    exact: Box<[f32]>,
    censored: Box<[f32]>,
    /// What was taken from those who record. Kept, as it is large.
    taken: Histogram32,
}

#[derive(Clone, Copy)]
pub(super) enum Sample {
    /// It took this long.
    Exact(Duration),
    /// It would have taken longer.
    Censored(Duration),
}

impl Samples {
    pub(super) fn new() -> Self {
        let weights = || vec![0.0; BUCKETS.total_buckets()].into();
        Self {
            exact: AtomicHistogram32::with_config(&BUCKETS),
            censored: AtomicHistogram32::with_config(&BUCKETS),
            recorded: AtomicU64::new(0),
            weights: Mutex::new(Weights {
                exact: weights(),
                censored: weights(),
                taken: Histogram32::with_config(&BUCKETS),
            }),
        }
    }

    /// Gives how many have been recorded, this one included.
    pub(super) fn record(&self, sample: Sample) -> u64 {
        let (kind, took) = match sample {
            Sample::Exact(took) => (&self.exact, took),
            Sample::Censored(took) => (&self.censored, took),
        };
        let nanos = u64::try_from(took.as_nanos()).map_or(LONGEST, |nanos| nanos.min(LONGEST));
        kind.increment(nanos)
            .expect("a bucket for each up to the longest");
        // Whoever reads the count must see what it counts.
        self.recorded.fetch_add(1, Ordering::AcqRel) + 1
    }

    pub(super) fn recorded(&self) -> u64 {
        self.recorded.load(Ordering::Acquire)
    }

    /// The weights, unless somebody else has them.
    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, Weights>> {
        match self.weights.try_lock() {
            Ok(weights) => Some(weights),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Adds what was recorded since the last time. All together weigh `memory` samples at most: beyond
    /// that everything is scaled down, so the old fade as new ones come.
    pub(super) fn learn(&self, weights: &mut Weights, memory: u32) {
        let Weights {
            exact,
            censored,
            taken,
        } = weights;
        for (recorded, weights) in [(&self.exact, &mut *exact), (&self.censored, &mut *censored)] {
            recorded.drain_into(taken).expect("the same buckets");
            for (weight, &count) in weights.iter_mut().zip(taken.as_slice()) {
                *weight += count as f32;
            }
        }
        let total = survival::sum(exact) + survival::sum(censored);
        let memory = f64::from(memory);
        if total > memory {
            let scale = (memory / total) as f32;
            for weight in exact.iter_mut().chain(censored) {
                let faded = *weight * scale;
                *weight = if faded < FORGOTTEN { 0.0 } else { faded };
            }
        }
    }
}

impl Weights {
    /// The delay beyond which a share `beyond` of the attempts goes on, rounded up to the end of its
    /// bucket; if there is none, the longest time seen. In nanoseconds.
    pub(super) fn delay(&self, beyond: f64) -> Option<u64> {
        let index = survival::bucket(&self.exact, &self.censored, beyond)?;
        Some(self.taken.iter().nth(index)?.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(samples: &Samples, memory: u32) -> f64 {
        let mut weights = samples.try_lock().expect("nobody else has it");
        samples.learn(&mut weights, memory);
        survival::sum(&weights.exact) + survival::sum(&weights.censored)
    }

    #[test]
    fn no_sample_is_lost_when_many_threads_record_and_one_learns() {
        let samples = Samples::new();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let samples = &samples;
                scope.spawn(move || {
                    for nanos in 0..10_000 {
                        let took = Duration::from_nanos(nanos * thread);
                        samples.record(match nanos % 3 {
                            0 => Sample::Censored(took),
                            _ => Sample::Exact(took),
                        });
                        if nanos % 100 == 0 {
                            if let Some(mut weights) = samples.try_lock() {
                                samples.learn(&mut weights, u32::MAX);
                            }
                        }
                    }
                });
            }
        });
        assert_eq!(samples.recorded(), 40_000);
        assert_eq!(weight(&samples, u32::MAX), 40_000.0);
    }

    #[test]
    fn the_longest_and_the_shortest_have_a_bucket() {
        let samples = Samples::new();
        for took in [
            Duration::ZERO,
            Duration::MAX,
            Duration::from_nanos(LONGEST + 1),
        ] {
            samples.record(Sample::Exact(took));
            samples.record(Sample::Censored(took));
        }
        assert_eq!(weight(&samples, 10), 6.0);
        let weights = samples.try_lock().expect("nobody else has it");
        assert_eq!(weights.delay(0.9), Some(0));
        assert_eq!(weights.delay(0.1), Some(LONGEST));
    }

    #[test]
    fn all_together_weigh_no_more_than_the_memory_and_the_old_fade() {
        let samples = Samples::new();
        for _ in 0..1_000 {
            samples.record(Sample::Exact(Duration::from_millis(1)));
        }
        assert_eq!(weight(&samples, 100), 100.0);
        for _ in 0..100 {
            samples.record(Sample::Exact(Duration::from_millis(9)));
        }
        assert_eq!(weight(&samples, 100), 100.0);
        let weights = samples.try_lock().expect("nobody else has it");
        assert_eq!(weights.exact.iter().filter(|&&it| it == 50.0).count(), 2);
    }

    #[test]
    fn what_has_faded_is_forgotten() {
        let samples = Samples::new();
        samples.record(Sample::Exact(Duration::from_secs(1)));
        assert_eq!(weight(&samples, 10), 1.0);
        for _ in 0..100 {
            for _ in 0..10 {
                samples.record(Sample::Exact(Duration::ZERO));
            }
            weight(&samples, 10);
        }
        let weights = samples.try_lock().expect("nobody else has it");
        assert_eq!(weights.exact.iter().filter(|&&it| it > 0.0).count(), 1);
    }

    #[test]
    fn a_bucket_is_at_most_a_64th_of_its_values_wide() {
        let buckets = Histogram32::with_config(&BUCKETS);
        assert!(
            buckets
                .iter()
                .all(|it| it.end() - it.start() <= it.start() / 64)
        );
        assert_eq!(buckets.iter().last().map(|it| it.end()), Some(LONGEST));
    }

    #[test]
    fn it_takes_48_kilobytes() {
        let bytes = BUCKETS.total_buckets() * (2 * size_of::<u32>() + 2 * size_of::<f32>() + 4);
        assert_eq!(bytes, 47_360);
    }
}
