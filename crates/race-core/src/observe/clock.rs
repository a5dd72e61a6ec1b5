use crate::{Moment, Timer};

/// What time it is, for those who only want to know: observers. Every [`Timer`] is a clock.
///
/// A clock never decides when anything starts or ends.
pub trait Clock {
    /// What time it is now. It never goes backwards.
    fn now(&self) -> Moment;
}

impl<T: Timer> Clock for T {
    fn now(&self) -> Moment {
        Timer::now(self)
    }
}

#[cfg(feature = "test-util")]
impl Clock for crate::VirtualClock {
    fn now(&self) -> Moment {
        Self::now(self)
    }
}
