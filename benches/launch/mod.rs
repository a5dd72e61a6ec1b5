//! Runs a benchmark of the package `peers`. It is a separate package because the original crate,
//! which it measures, has the name of ours.

use std::{
    env,
    process::{Command, ExitCode},
};

/// Runs the benchmark with this name in `peers`, with the arguments of the command line.
pub(crate) fn peers(bench: &str) -> ExitCode {
    let args = env::args().skip(1).filter(|arg| arg != "--bench");
    let status = Command::new(env!("CARGO"))
        .args(["bench", "--locked", "--manifest-path"])
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/benches/peers/Cargo.toml"
        ))
        .args(["--bench", bench, "--"])
        .args(args)
        .status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cannot run cargo: {error}");
            ExitCode::FAILURE
        }
    }
}
