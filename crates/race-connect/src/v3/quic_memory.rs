use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use race_core::Moment;

/// Remembers that an attempt over QUIC got no answer, and made no progress, while one over TCP that
/// began later connected. TCP then comes first.
///
/// On a network that blocks UDP, every connection would wait for the delay; with a memory only the
/// first one does. After [`LIFETIME`](Self::LIFETIME) the memory is empty, so that QUIC is tried
/// again. It is right for one network only: call [`forget`](Self::forget) when the network changes.
#[derive(Debug, Default)]
pub struct QuicMemory(Mutex<Option<Moment>>);

impl QuicMemory {
    /// How long it is remembered that QUIC got no answer: 10 minutes.
    pub const LIFETIME: Duration = Duration::from_secs(600);

    /// Creates an empty memory.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Whether QUIC got no answer, as far as is remembered at `now`.
    #[must_use]
    pub fn is_blocked(&self, now: Moment) -> bool {
        self.since()
            .is_some_and(|since| now < since + Self::LIFETIME)
    }

    /// Remembers that QUIC got no answer at `now`. If that is remembered already, its lifetime does
    /// not begin again.
    pub fn remember(&self, now: Moment) {
        let mut since = self.since();
        if since.is_none_or(|since| now >= since + Self::LIFETIME) {
            *since = Some(now);
        }
    }

    /// Forgets everything, because QUIC has connected or the network has changed.
    pub fn forget(&self) {
        *self.since() = None;
    }

    fn since(&self) -> MutexGuard<'_, Option<Moment>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
