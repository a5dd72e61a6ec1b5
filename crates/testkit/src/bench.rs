//! The command line of a benchmark without a harness.

/// The arguments that are not flags. `None` without `--bench`: `cargo test` starts each benchmark only
/// to see that it starts.
#[must_use]
pub fn words() -> Option<Vec<String>> {
    let (flags, words): (Vec<_>, Vec<_>) = std::env::args()
        .skip(1)
        .partition(|word| word.starts_with('-'));
    flags.iter().any(|flag| flag == "--bench").then_some(words)
}
