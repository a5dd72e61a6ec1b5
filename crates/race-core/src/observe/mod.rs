//! Seeing what a race does.

mod clock;
mod event;

#[cfg(feature = "coarsetime")]
mod coarse;
#[cfg(feature = "alloc")]
mod counters;
#[cfg(feature = "alloc")]
mod counts;
#[cfg(feature = "alloc")]
mod observed;
#[cfg(feature = "alloc")]
mod staircase;
#[cfg(feature = "tracing")]
mod traced;

pub use clock::Clock;
pub use event::{Event, What};

#[cfg(feature = "coarsetime")]
pub use coarse::CoarseClock;
#[cfg(feature = "tracing")]
pub use traced::Traced;
#[cfg(feature = "alloc")]
pub use {
    counters::Counters,
    counts::Counts,
    observed::{Observed, Observer},
    staircase::Staircase,
};
