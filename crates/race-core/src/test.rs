//! A virtual clock, which makes tests of races exact and takes no time, and the checks for timers.

#[cfg(feature = "conformance")]
#[cfg_attr(docsrs, doc(cfg(feature = "conformance")))]
pub use crate::time::conformance;
#[cfg(feature = "test-util")]
#[cfg_attr(docsrs, doc(cfg(feature = "test-util")))]
pub use crate::time::{Deadlock, VirtualClock, VirtualSleep, VirtualTimer};
