use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use race_core::Moment;

use crate::Family;

/// Remembers the family that connected while attempts of the other one, which began earlier over
/// the same transport, got no answer. That family then comes first.
///
/// On a network whose IPv6 drops packets, every connection would wait for the delay; with a memory
/// only the first one does. A refusal teaches nothing: it costs no time, and it is often the
/// host's. After [`LIFETIME`](Self::LIFETIME) the memory is empty, however often it was used, so
/// that the other family is tried again; RFC 6555 has such a memory. It is right for one network
/// only: call [`forget`](Self::forget) when the network changes.
#[derive(Debug, Default)]
pub struct FamilyMemory(Mutex<Option<(Family, Moment)>>);

impl FamilyMemory {
    /// How long a family is remembered: 10 minutes.
    pub const LIFETIME: Duration = Duration::from_secs(600);

    /// Creates an empty memory.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Returns the family that is remembered at `now`, if there is one.
    #[must_use]
    pub fn family(&self, now: Moment) -> Option<Family> {
        let (family, at) = (*self.latest())?;
        (now < at + Self::LIFETIME).then_some(family)
    }

    /// Remembers the family of a connection that was made at `now`. If it is remembered already,
    /// its lifetime does not begin again.
    pub fn remember(&self, family: Family, now: Moment) {
        let mut latest = self.latest();
        match *latest {
            Some((known, at)) if known == family && now < at + Self::LIFETIME => {}
            _ => *latest = Some((family, now)),
        }
    }

    /// Forgets everything, because the network has changed.
    pub fn forget(&self) {
        *self.latest() = None;
    }

    fn latest(&self) -> MutexGuard<'_, Option<(Family, Moment)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
