use std::{
    ptr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use race_core::Moment;

use crate::estimate::{Estimate, Latency};

/// An endpoint with its statistics. It is equal to itself only.
#[derive(Debug)]
pub(crate) struct Endpoint<E> {
    pub(crate) value: E,
    estimate: Mutex<Estimate>,
    in_flight: AtomicUsize,
}

/// The cost of one more attempt at an endpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    latency: Latency,
    in_flight: usize,
}

impl<E> Endpoint<E> {
    pub(crate) fn new(value: E) -> Self {
        Self {
            value,
            estimate: Mutex::default(),
            in_flight: AtomicUsize::new(0),
        }
    }

    pub(crate) fn cost(&self, now: Moment, decay: Duration) -> Cost {
        Cost {
            latency: self.estimate(|estimate| estimate.at(now, decay)),
            in_flight: self.in_flight(),
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Counts an attempt. The count guards no other memory.
    pub(crate) fn begin(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    /// Reads or changes the estimate. `change` must not call code of users, which could panic.
    pub(crate) fn estimate<T>(&self, change: impl FnOnce(&mut Estimate) -> T) -> T {
        let estimate = self.estimate.lock();
        change(&mut estimate.unwrap_or_else(PoisonError::into_inner))
    }
}

impl<E> PartialEq for Endpoint<E> {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self, other)
    }
}

impl Cost {
    /// Returns whether this costs less than the other: latency times attempts in flight, with the
    /// new one. A latency of zero counts as one nanosecond, so that the attempts in flight count.
    pub(crate) fn is_below(&self, other: &Self) -> bool {
        let (here, there) = self.latency.compared(other.latency);
        let cost = |latency: f64, in_flight| latency.max(1.0) * (in_flight as f64 + 1.0);
        cost(here, self.in_flight) < cost(there, other.in_flight)
    }
}
