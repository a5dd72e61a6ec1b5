//! Tests of the command line.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod process;

mod configuration;
mod decompress;
mod ending;
mod errors;
mod help;
mod json_log;
mod load;
mod log;
mod older_server;
mod operate;
mod operations;
mod reading;
mod reasons;
mod reload;
mod round_trip;
mod salvage;
#[cfg(target_os = "linux")]
mod service_manager;
mod terms;
#[cfg(target_os = "linux")]
mod unread_log;
#[cfg(target_os = "linux")]
mod unread_output;
