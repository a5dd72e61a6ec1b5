//! What a race promises, on the virtual clock.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod bounds;
mod broken_timers;
mod catch_up;
mod cpython;
mod drain;
mod drops;
mod ends;
mod failsafe;
mod finagle;
mod hedgedhttp;
mod inline;
mod limits;
mod observing;
mod panics;
mod polly;
mod probe;
mod quorum;
mod rules;
mod scenario;
mod simulated;
mod sources;
mod staggering;
mod tower;
mod traits;
mod waking;
