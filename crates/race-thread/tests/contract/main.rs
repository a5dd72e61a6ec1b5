//! Contract tests of the asynchronous model: what wakers, futures and executors may count on, and what they may
//! do. Nothing here says how late a wake may be, but for a watchdog.

mod model;
mod probe;
mod wakers;
