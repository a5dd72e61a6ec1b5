//! Moments, timers, and a virtual clock for tests.

#[cfg(feature = "alloc")]
mod box_timer;
mod division;
mod moment;
mod timer;

#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg(feature = "test-util")]
mod virtual_clock;

#[cfg(feature = "alloc")]
pub use box_timer::BoxTimer;
pub use division::div_rem;
pub use moment::Moment;
pub(crate) use moment::saturating_nanos;
pub use timer::Timer;

#[cfg(feature = "test-util")]
pub use virtual_clock::{Deadlock, VirtualClock, VirtualSleep, VirtualTimer};
