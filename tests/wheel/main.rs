//! What a timing wheel promises: against a model, against a peer, and what memory it takes.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod delay_queue;
mod memory;
mod model;

use proptest::test_runner::Config;

/// As many cases as `PROPTEST_CASES` says, or else so many.
fn cases(number: u32) -> Config {
    let mut config = Config::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = number;
    }
    config.failure_persistence = None;
    config
}
