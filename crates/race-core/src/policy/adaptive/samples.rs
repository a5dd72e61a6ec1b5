use alloc::{boxed::Box, vec};
use core::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use super::{
    buckets::{self, BUCKETS, Buckets},
    curve::{Curve, Point},
    survival,
};

/// How often an estimate is made while the memory is filled once.
const UPDATES: u64 = 16;

/// Lower weights become zero, because arithmetic on subnormal numbers is slow.
const NEGLIGIBLE: f32 = 1e-3;

/// A histogram of the latest samples, in which older samples weigh less.
///
/// Recording takes no lock and loses no sample. From time to time the recording thread also calls
/// [`learn`](Self::learn), which moves the recorded samples into the weights. That takes a lock,
/// and no thread waits for it.
pub(super) struct Samples {
    /// Exact samples since the last `learn`.
    exact: Buckets,
    /// Censored samples since the last `learn`.
    censored: Buckets,
    /// The number of samples since the beginning.
    recorded: AtomicU64,
    weights: Mutex<Weights>,
}

/// The present weight of the samples in each bucket.
pub(super) struct Weights {
    exact: Box<[f32]>,
    censored: Box<[f32]>,
    /// The sum of the weights.
    total: f64,
    /// The number of samples at which `learn_if_due` learns again.
    due: u64,
}

/// How long an attempt took.
#[derive(Clone, Copy)]
pub(super) enum Sample {
    /// Exactly this long.
    Exact(Duration),
    /// Longer than this: it was stopped.
    Censored(Duration),
}

impl Samples {
    pub(super) fn new() -> Self {
        let weights = || vec![0.0; BUCKETS].into();
        Self {
            exact: Buckets::new(),
            censored: Buckets::new(),
            recorded: AtomicU64::new(0),
            weights: Mutex::new(Weights {
                exact: weights(),
                censored: weights(),
                total: 0.0,
                due: 0,
            }),
        }
    }

    /// Records a sample. Returns the number of samples so far, including this one.
    pub(super) fn record(&self, sample: Sample) -> u64 {
        let (kind, took) = match sample {
            Sample::Exact(took) => (&self.exact, took),
            Sample::Censored(took) => (&self.censored, took),
        };
        kind.record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        // A thread that reads this count must also see the samples that it counts.
        self.recorded.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Returns the number of samples so far.
    pub(super) fn recorded(&self) -> u64 {
        self.recorded.load(Ordering::Acquire)
    }

    /// Locks the weights, and waits for another thread that has.
    pub(super) fn lock(&self) -> MutexGuard<'_, Weights> {
        self.weights.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the weights. Returns `None` if another thread holds the lock.
    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, Weights>> {
        match self.weights.try_lock() {
            Ok(weights) => Some(weights),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Calls [`learn`](Self::learn) if there are enough new samples. Returns whether it did.
    pub(super) fn learn_if_due(&self, weights: &mut Weights, memory: u32) -> bool {
        let recorded = self.recorded();
        let is_due = recorded >= weights.due.max(1);
        if is_due {
            self.learn(weights, memory);
            weights.due = next_update(recorded, memory);
        }
        is_due
    }

    /// Adds the samples since the last call to the weights.
    ///
    /// The total weight is at most `memory`: if it is larger, all weights are scaled down, so old
    /// samples fade as new ones arrive.
    pub(super) fn learn(&self, weights: &mut Weights, memory: u32) {
        let Weights {
            exact,
            censored,
            total,
            ..
        } = weights;
        self.exact.drain_into(exact);
        self.censored.drain_into(censored);
        let sum = survival::sum(exact) + survival::sum(censored);
        let memory = f64::from(memory);
        *total = sum.min(memory);
        if sum > memory {
            let scale = (memory / sum) as f32;
            for weight in exact.iter_mut().chain(censored) {
                let faded = *weight * scale;
                *weight = if faded < NEGLIGIBLE { 0.0 } else { faded };
            }
        }
    }
}

impl Weights {
    /// Returns the shortest delay, in nanoseconds, that at most the share `beyond` of the attempts
    /// exceeds, rounded up to the end of its bucket.
    ///
    /// If there is no such delay, returns the longest time seen; without samples `None`.
    pub(super) fn delay(&self, beyond: f64) -> Option<u64> {
        let index = survival::bucket(&self.exact, &self.censored, beyond)?;
        Some(buckets::end(index))
    }

    /// Returns the estimate.
    pub(super) fn curve(&self) -> Curve {
        let mut curve = Curve::default();
        self.fill(&mut curve);
        curve
    }

    /// Writes the estimate into a curve.
    pub(super) fn fill(&self, curve: &mut Curve) {
        let points = survival::curve(&self.exact, &self.censored);
        curve.fill(points.map(|(index, running)| {
            let at = buckets::end(index);
            Point { at, running }
        }));
    }

    /// Returns the weight of all samples.
    pub(super) const fn total(&self) -> f64 {
        self.total
    }
}

/// Returns the number of samples at which an estimate is made again.
pub(super) fn next_update(recorded: u64, memory: u32) -> u64 {
    let often = recorded.min(memory.into()) / UPDATES;
    recorded + often.max(1)
}

#[cfg(test)]
mod tests;
