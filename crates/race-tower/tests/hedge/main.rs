//! Hedged services on the virtual clock.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod answers;
mod balance;
mod jitter;
mod observed;
mod options;
mod places;
mod pools;
mod readiness;
mod replicas;
mod server;
mod tower_hedge;
mod types;
