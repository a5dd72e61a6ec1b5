//! Platforms with a standard library, which is built from source: what compiles for Windows and
//! macOS, and the tests on a 32-bit platform.

use std::time::Duration;

use super::{Report, compiler::Compiler};
use crate::{output, step::Outcome};

/// Platforms of users. Nothing is linked, so no linker and no system library is needed.
const CHECKED: [&str; 2] = ["x86_64-pc-windows-gnu", "aarch64-apple-darwin"];

/// The libraries and their features. Left out are those that compile C, which needs a C compiler
/// for the target (`tls`, by *ring*, and `zstd`, both of the client, and `hyper-delay-etcd`), and
/// `hickory`, which needs a newer Rust.
const LIBRARIES: [&str; 4] = [
    "-p race-core -p race-wheel -p race-thread -p race-tokio -p race-async-io -p race-smol \
     -p race-embassy -p race-web -p race-tower -p race-balance -p race-object-store -p race-sim \
     -p race --all-features",
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
    let compiler = Compiler::find()?;
    for target in CHECKED {
        for crates in LIBRARIES {
            let check = format!("check {crates}");
            compiler.platform(&check, target, "").run()?;
        }
        report.push(format!("{target}: the libraries compile"));
    }
    let mut passed = 0;
    for tests in TESTS {
        let test = compiler.platform(&format!("test {tests}"), TESTED, "");
        let output = test.output_within(LIMIT)?;
        passed += output::passed_in(&output);
    }
    report.push(format!("{TESTED}: {passed} tests passed"));
    Ok(())
}
