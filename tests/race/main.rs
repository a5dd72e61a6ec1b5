//! What a race promises, on the virtual clock.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod adaptive;
mod backoff;
mod budgets;
mod catch_up;
mod combinations;
mod committing;
mod delays;
mod dropping;
mod errors;
mod finishers;
mod gates;
mod inline;
mod inline_finishers;
mod keep_race;
mod last_success;
mod limits;
mod max_in_flight;
mod observers;
mod on_failure;
mod one_waker;
mod option_order;
mod overrun;
mod panics;
mod peers;
mod polling;
mod probe;
mod quorum;
mod race_options;
mod retry;
mod scenario;
mod simulated;
mod sources;
mod spawning;
mod stream_timeouts;
mod timeouts;
mod timer_conformance;
mod tuples;
mod types;
mod verdicts;
