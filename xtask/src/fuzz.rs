//! The fuzz target of the server's line parser.

use crate::{
    step::{Outcome, Step},
    workspace,
};

const FOLDER: &str = "crates/hyper-delay";

/// Compiles the target in the target directory of the workspace, which has most dependencies.
pub(crate) fn check() -> Outcome {
    let manifest = format!("{FOLDER}/fuzz/Cargo.toml");
    Step::cargo(&format!(
        "check --locked --quiet --manifest-path {manifest}"
    ))
    .env("CARGO_TARGET_DIR", workspace::target()?)
    .run()
}

/// Needs a nightly toolchain, and `cargo install cargo-fuzz`.
pub(crate) fn run() -> Outcome {
    let run = Step::cargo("+nightly fuzz run lines -- -max_total_time=600");
    run.directory(FOLDER).run()
}
