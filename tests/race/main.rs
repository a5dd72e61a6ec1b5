//! What a race promises, on the virtual clock.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod adaptive;
mod bounds;
mod broken_timers;
mod catch_up;
mod drain;
mod drops;
mod ends;
mod inline;
mod limits;
mod observing;
mod panics;
mod peers;
mod probe;
mod quorum;
mod rules;
mod scenario;
mod simulated;
mod sources;
mod staggering;
mod traits;
mod waking;
