use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use race_core::Moment;

use crate::Family;

/// Remembers the family of the last connection, which then comes first (RFC 8305, section 8).
///
/// A network without IPv6 costs each first connection the delay; the memory saves it for the next
/// ones. It fades after [`LIFETIME`](Self::LIFETIME), and it is only right for one network: call
/// [`forget`](Self::forget) when the network changes.
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

    /// Returns the family of the last connection, if it was made lately.
    #[must_use]
    pub fn family(&self, now: Moment) -> Option<Family> {
        let (family, at) = (*self.latest())?;
        (now < at + Self::LIFETIME).then_some(family)
    }

    /// Remembers the family of a connection that was made at `now`.
    pub fn remember(&self, family: Family, now: Moment) {
        *self.latest() = Some((family, now));
    }

    /// Forgets everything, because the network has changed.
    pub fn forget(&self) {
        *self.latest() = None;
    }

    fn latest(&self) -> MutexGuard<'_, Option<(Family, Moment)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
