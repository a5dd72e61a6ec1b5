use crate::{Moment, Timer};

/// A clock for observers. Every [`Timer`] is one.
///
/// A clock never decides when an attempt starts or ends; the race's timer does.
pub trait Clock {
    /// Returns the current time. It never goes backwards.
    fn read(&self) -> Moment;
}

impl<T: Timer> Clock for T {
    fn read(&self) -> Moment {
        Timer::now(self)
    }
}

#[cfg(feature = "test-util")]
impl Clock for crate::test::VirtualClock {
    fn read(&self) -> Moment {
        Self::now(self)
    }
}
