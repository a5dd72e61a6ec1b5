//! The fuzz targets of the server.

use std::fs;

use crate::{
    step::{Outcome, Step},
    workspace,
};

const FOLDER: &str = "crates/hyper-delay";

/// Compiles the targets in the target directory of the workspace, which has most dependencies.
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
    for target in ["lines", "tokens", "http"] {
        let run = format!("+nightly fuzz run {target} -- -max_total_time=200");
        Step::cargo(&run).directory(FOLDER).run()?;
    }
    // The first folder takes what is found. The payloads of the tests are where it begins.
    let found = workspace::target()?.join("fuzz-inflate");
    fs::create_dir_all(&found).map_err(|error| format!("{}: {error}", found.display()))?;
    Step::cargo("+nightly fuzz run inflate")
        .arg(found)
        .arg("tests/fixtures/payloads")
        .arg("--")
        .arg("-max_total_time=300")
        .directory(FOLDER)
        .run()
}
