//! Events of a race, and observers that receive them.

mod clock;
mod event;

#[cfg(feature = "coarsetime")]
mod coarse_clock;
#[cfg(feature = "alloc")]
mod counters;
#[cfg(feature = "alloc")]
mod counts;
#[cfg(feature = "alloc")]
mod observed;
#[cfg(feature = "alloc")]
mod observer;
#[cfg(all(feature = "alloc", feature = "std"))]
mod overrun;
#[cfg(feature = "alloc")]
mod staircase;
#[cfg(feature = "tracing")]
mod traced;

pub use clock::Clock;
pub use event::{Cause, Event, EventKind, Refusal};

#[cfg(feature = "coarsetime")]
#[cfg_attr(docsrs, doc(cfg(feature = "coarsetime")))]
pub use coarse_clock::CoarseClock;
#[cfg(all(feature = "alloc", feature = "std"))]
#[cfg_attr(docsrs, doc(cfg(all(feature = "alloc", feature = "std"))))]
pub use overrun::{AttemptGuard, Overrun, RaceOverrun};
#[cfg(feature = "tracing")]
#[cfg_attr(docsrs, doc(cfg(feature = "tracing")))]
pub use traced::Traced;
#[cfg(feature = "alloc")]
#[cfg_attr(docsrs, doc(cfg(feature = "alloc")))]
pub use {
    counters::Counters,
    counts::Counts,
    observed::Observed,
    observer::{Observer, OnEvent},
    staircase::Staircase,
};
