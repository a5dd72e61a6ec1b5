//! The fuzz target of the server's line parser.

use crate::step::{Outcome, Step};

const FOLDER: &str = "crates/hyper-delay";

/// Compiles the target.
pub(crate) fn check() -> Outcome {
    let manifest = format!("{FOLDER}/fuzz/Cargo.toml");
    Step::cargo(&format!(
        "check --locked --quiet --manifest-path {manifest}"
    ))
    .run()
}

/// Needs a nightly toolchain, and `cargo install cargo-fuzz`.
pub(crate) fn run() -> Outcome {
    let run = Step::cargo("+nightly fuzz run lines -- -max_total_time=600");
    run.directory(FOLDER).run()
}
