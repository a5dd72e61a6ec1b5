use std::{
    ptr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use race_core::Moment;

use crate::{
    cost::Cost,
    estimate::Estimate,
    health::{Health, Revision, Standing},
};

/// An endpoint with its statistics. It is equal to itself only.
#[derive(Debug)]
pub(crate) struct Endpoint<E> {
    pub(crate) value: E,
    learnt: Mutex<Learnt>,
    /// Copies of what `learnt` says, to be read without a lock.
    is_failing: AtomicBool,
    has_pushback: AtomicBool,
    in_flight: AtomicUsize,
}

/// What the outcomes of attempts say about an endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Learnt {
    pub(crate) estimate: Estimate,
    pub(crate) health: Health,
}

impl<E> Endpoint<E> {
    pub(crate) fn new(value: E) -> Self {
        Self {
            value,
            learnt: Mutex::default(),
            is_failing: AtomicBool::new(false),
            has_pushback: AtomicBool::new(false),
            in_flight: AtomicUsize::new(0),
        }
    }

    pub(crate) fn cost(&self, now: Moment, decay: Duration) -> Cost {
        Cost {
            latency: self.learnt().estimate.at(now, decay),
            in_flight: self.in_flight(),
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Counts an attempt. The count guards no other memory.
    pub(crate) fn begin(&self) -> Revision {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        self.learnt().health.revision()
    }

    pub(crate) fn end(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns whether the endpoint was ejected, and has not succeeded since.
    pub(crate) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    pub(crate) fn standing(&self, now: Moment) -> Standing {
        match self.is_failing() || self.has_pushback.load(Ordering::Relaxed) {
            true => self.learnt().health.standing(now),
            false => Standing::InRotation,
        }
    }

    /// Returns the end of the pushback, if it has not passed.
    pub(crate) fn pushed_back_until(&self, now: Moment) -> Option<Moment> {
        match self.has_pushback.load(Ordering::Relaxed) {
            true => self.learnt().health.pushed_back_until(now),
            false => None,
        }
    }

    /// Returns a copy of what is learnt.
    pub(crate) fn learnt(&self) -> Learnt {
        *self.learnt.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is learnt. `change` must not call code of users, which could panic.
    pub(crate) fn learn<T>(&self, change: impl FnOnce(&mut Learnt) -> T) -> T {
        let mut learnt = self.learnt.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut learnt);
        let health = &learnt.health;
        self.is_failing
            .store(health.is_failing(), Ordering::Relaxed);
        self.has_pushback
            .store(health.has_pushback(), Ordering::Relaxed);
        changed
    }
}

impl<E> PartialEq for Endpoint<E> {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self, other)
    }
}

/// An endpoint that was chosen for an attempt. It holds the trial place of the endpoint if the
/// attempt is a trial, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place<E> {
    endpoint: Arc<Endpoint<E>>,
    is_trial: bool,
}

impl<E> Place<E> {
    /// Returns a place at an endpoint that is in rotation, or where the attempt can be the trial.
    pub(crate) fn in_rotation(endpoint: &Arc<Endpoint<E>>, now: Moment) -> Option<Self> {
        let place = Self::at(endpoint, now);
        (place.is_trial || endpoint.standing(now) == Standing::InRotation).then_some(place)
    }

    /// Returns a place whatever the standing of the endpoint is.
    pub(crate) fn at(endpoint: &Arc<Endpoint<E>>, now: Moment) -> Self {
        let is_trial = endpoint.is_failing() && endpoint.learn(|it| it.health.begin_trial(now));
        Self {
            endpoint: endpoint.clone(),
            is_trial,
        }
    }

    /// Returns a place while all endpoints are used, where no attempt is a trial.
    pub(crate) fn without_trial(endpoint: &Arc<Endpoint<E>>) -> Self {
        Self {
            endpoint: endpoint.clone(),
            is_trial: false,
        }
    }

    pub(crate) fn endpoint(&self) -> &Arc<Endpoint<E>> {
        &self.endpoint
    }

    /// Returns whether the attempt is the trial of an endpoint that was ejected.
    pub(crate) fn is_trial(&self) -> bool {
        self.is_trial
    }
}

impl<E> Drop for Place<E> {
    fn drop(&mut self) {
        if self.is_trial {
            self.endpoint.learn(|learnt| learnt.health.end_trial());
        }
    }
}
