//! The contract between the timer and wakers, futures and executors. No test bounds how late a wake
//! is, except by a watchdog.

mod model;
mod probe;
mod wakers;
