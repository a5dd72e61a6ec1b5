//! Hedged reads on the virtual clock.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod answers;
mod body;
mod debug;
mod failover;
mod kind;
mod learnt_answers;
mod model;
mod nested;
mod observed;
mod odd_ranges;
mod options;
mod passed_on;
mod race_options;
mod slow;
mod stalls;
mod types;
mod warm_up;
