//! The contract of `Attempts`: against a model, against `FuturesUnordered`, and in edge cases.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod collect;
mod differential;
mod edge_cases;
mod gate;
mod model;
mod payload;
mod task;

/// Runs `number` cases, or as many as `PROPTEST_CASES` says.
fn cases(number: u32) -> proptest::test_runner::Config {
    let mut config = proptest::test_runner::Config::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = number;
    }
    config.failure_persistence = None;
    config
}
