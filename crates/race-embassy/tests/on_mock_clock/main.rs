//! The crate on the clock of embassy's mock driver: every test counts ticks.
//!
//! The driver has the generic queue here, which takes any waker. The default queue needs embassy's
//! executor: `tests/embassy` runs the tests of `races.rs` there.

mod executor;

mod conformance;
mod queue;
mod races;
mod timer;
