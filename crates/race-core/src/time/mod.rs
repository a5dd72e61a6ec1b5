//! Moments, timers, and a virtual clock for tests.

mod division;
mod moment;
mod timer;

#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg(feature = "test-util")]
mod virtual_clock;

pub use division::div_rem;
pub use moment::Moment;
pub(crate) use moment::saturating_nanos;
pub use timer::Timer;

#[cfg(feature = "test-util")]
pub use virtual_clock::{Deadlock, VirtualClock, VirtualSleep, VirtualTimer};
