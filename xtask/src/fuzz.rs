//! The fuzz targets of the server.

use std::fs;

use crate::{
    step::{Outcome, Step},
    workspace,
};

const FOLDER: &str = "crates/hyper-delay";

pub(crate) fn check() -> Outcome {
    let manifest = format!("{FOLDER}/fuzz/Cargo.toml");
    workspace::cargo_outside(&format!("check --locked --manifest-path {manifest}"))?.run()
}

/// Each target, where it begins, and its seconds.
const TARGETS: [(&str, Option<&str>, u32); 4] = [
    ("lines", Some("fuzz/corpus/lines"), 200),
    ("tokens", Some("fuzz/corpus/tokens"), 200),
    ("http", None, 200),
    ("inflate", Some("tests/fixtures/payloads"), 300),
];

/// Needs a nightly toolchain, and `cargo install cargo-fuzz`.
pub(crate) fn run() -> Outcome {
    for (target, begin, seconds) in TARGETS {
        // The first folder takes what is found, so that the repository stays as it is.
        let found = workspace::target()?.join(format!("fuzz-{target}"));
        fs::create_dir_all(&found).map_err(|error| format!("{}: {error}", found.display()))?;
        let mut step = Step::cargo(&format!("+nightly fuzz run {target}")).arg(found);
        if let Some(begin) = begin {
            step = step.arg(begin);
        }
        step.arg("--")
            .arg(format!("-max_total_time={seconds}"))
            .directory(FOLDER)
            .run()?;
    }
    Ok(())
}
