//! The crate on the clock of embassy's mock driver: every test counts ticks.
//!
//! The driver has the generic queue, which takes any waker. The default queue needs embassy's
//! executor: the program in `tests/embassy` runs races on it.

mod executor;

mod conformance;
mod queue;
mod races;
mod timer;
