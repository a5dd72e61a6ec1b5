//! The races of the tests of `race-embassy`, on embassy's executor and its default timer queue.

mod executor;

#[path = "../../../../crates/race-embassy/tests/on_mock_clock/races.rs"]
mod races;
