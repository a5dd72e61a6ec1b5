//! What a race promises, on the virtual clock.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod adaptive;
mod bounds;
mod broken_timers;
mod catch_up;
mod cpython;
mod drops;
mod ends;
mod inline;
mod panics;
mod probe;
mod sources;
mod staggering;
mod traits;
mod waking;
