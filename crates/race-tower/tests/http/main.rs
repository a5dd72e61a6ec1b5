//! Requests with bodies that are sent again, on the virtual clock.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod body;
mod random;
mod scenarios;
mod server;

use std::time::Duration;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
