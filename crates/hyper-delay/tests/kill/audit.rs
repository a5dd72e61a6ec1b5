//! Checks the store of a killed server while no server runs.

use std::{path::Path, process::Command};

/// Asserts that `hyper-delay verify` finds no damage and no inconsistency in the data directory of
/// a killed server, and returns the number of its tasks.
pub(crate) fn audit(data: &Path) -> usize {
    let output = Command::new(env!("CARGO_BIN_EXE_hyper-delay"))
        .arg("verify")
        .arg(data)
        .output()
        .unwrap();
    let [printed, reported] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(output.status.success(), "{printed}{reported}");
    let tasks = printed.trim_end().strip_prefix("all is well: ");
    let tasks = tasks.and_then(|tasks| tasks.strip_suffix(" tasks"));
    tasks.expect(&printed).parse().unwrap()
}
