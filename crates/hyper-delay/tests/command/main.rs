//! Tests of the command line.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod process;

mod configuration;
mod ending;
mod errors;
mod help;
mod load;
mod log;
mod reload;
mod round_trip;
mod salvage;
