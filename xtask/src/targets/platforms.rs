//! Platforms with a standard library, which is built from source: what compiles for Windows and
//! macOS, and the tests on a 32-bit platform.

use std::{path::PathBuf, time::Duration};

use super::Report;
use crate::{
    msrv,
    step::{Outcome, Step},
    workspace,
};

/// Platforms of users. Nothing is linked, so no linker and no system library is needed.
const CHECKED: [&str; 2] = ["x86_64-pc-windows-gnu", "aarch64-apple-darwin"];

/// The libraries and their features. Left out are those that compile C, which needs a C compiler
/// for the target (`tls`, by *ring*, and `zstd`, both of the client), and `hickory`, which needs a
/// newer Rust.
const LIBRARIES: [&str; 4] = [
    "-p race-core -p race-wheel -p race-thread -p race-tokio -p race-async-io -p race-smol \
     -p race-embassy -p race-web -p race-tower -p race-object-store -p race --all-features",
    "-p race-connect --features hyper,reqwest,smol",
    "-p hyper-delay-client --features lz4",
    "-p race-core -p race-wheel -p race -p race-connect --no-default-features",
];

/// A pointer and a `usize` have 32 bits, and a `u64` is aligned to four bytes.
const TESTED: &str = "i686-unknown-linux-gnu";

/// What is tested there. The second are the tests in tests/race, tests/attempts and tests/wheel.
const TESTS: [&str; 2] = [
    "-p race-core -p race-suite -p race-wheel -p race-thread -p race-tokio --all-features --lib \
     --tests",
    "--manifest-path tests/platforms/Cargo.toml --tests",
];

/// Building and running take about four minutes on two processors.
const LIMIT: Duration = Duration::from_secs(1_800);

pub(super) fn run(report: &mut Report) -> Outcome {
    let platforms = Platforms::find()?;
    for target in CHECKED {
        for crates in LIBRARIES {
            platforms.cargo("check", target, crates).run()?;
        }
        report.push(format!("{target}: the libraries compile"));
    }
    let mut passed = 0;
    for tests in TESTS {
        let output = platforms
            .cargo("test", TESTED, tests)
            .output_within(LIMIT)?;
        passed += count(&output);
    }
    report.push(format!("{TESTED}: {passed} passed"));
    Ok(())
}

struct Platforms {
    rustc: PathBuf,
    target_directory: PathBuf,
}

impl Platforms {
    fn find() -> Result<Self, String> {
        Ok(Self {
            rustc: msrv::compiler()?,
            target_directory: workspace::target()?.join("platforms"),
        })
    }

    fn cargo(&self, command: &str, target: &str, selection: &str) -> Step {
        Step::cargo(&format!(
            "{command} --locked --quiet -Zbuild-std=std,panic_unwind,proc_macro,test \
             --target {target} {selection}"
        ))
        .env("RUSTC", &self.rustc)
        // `-Zbuild-std` is unstable, and the compiler is a stable one.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", msrv::QUIET)
        .env("CARGO_TARGET_DIR", &self.target_directory)
    }
}

/// The number of passed tests that libtest reports.
fn count(output: &str) -> u32 {
    let results = output.lines().filter_map(|line| {
        let (passed, _) = line.strip_prefix("test result: ok. ")?.split_once(' ')?;
        passed.parse::<u32>().ok()
    });
    results.sum()
}
