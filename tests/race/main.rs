//! What a race promises, on the virtual clock.

mod bounds;
mod catch_up;
mod cpython;
mod drops;
mod ends;
mod panics;
mod probe;
mod sources;
mod staggering;
mod traits;
mod waking;
