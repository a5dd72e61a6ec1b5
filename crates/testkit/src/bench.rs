//! The command line of a benchmark without a harness.

/// The arguments that are not flags. `None` without the flag `--bench`: `cargo test` runs each
/// benchmark without it.
#[must_use]
pub fn words() -> Option<Vec<String>> {
    let (flags, words): (Vec<_>, Vec<_>) = std::env::args()
        .skip(1)
        .partition(|word| word.starts_with('-'));
    flags.iter().any(|flag| flag == "--bench").then_some(words)
}
