//! The timing wheel, compared with a model and with a peer, and its memory.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod delay_queue;
mod memory;
mod model;

use proptest::test_runner::Config;

/// `number` cases, unless `PROPTEST_CASES` is set.
fn cases(number: u32) -> Config {
    let mut config = Config::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = number;
    }
    config.failure_persistence = None;
    config
}
