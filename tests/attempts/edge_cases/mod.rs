//! Edge cases of the contract, one fact per test.

mod borrowed_parents;
mod coop_budget;
mod eager_parents;
mod fairness;
mod panicking_futures;
mod panicking_parents;
mod pinning;
mod stale_wakers;
mod threads;
mod ticket;
mod waking_drops;
