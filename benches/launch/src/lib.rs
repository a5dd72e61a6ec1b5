//! Runs a benchmark of the package `peers`. It is a package outside the workspace, because the
//! original crate, which it measures, has the name of ours.

use std::{
    env,
    process::{Command, ExitCode},
};

/// Returns the arguments of the command line, without the one that cargo adds.
#[must_use]
pub fn arguments() -> Vec<String> {
    env::args().skip(1).filter(|it| it != "--bench").collect()
}

/// Runs the benchmark with this name in `peers`, with all of its contenders.
#[must_use]
pub fn peers(bench: &str) -> ExitCode {
    run(bench, &["--profile", "bench"], &arguments())
}

/// Runs the benchmark `instructions` in `peers`, which needs few contenders, with its own profile.
#[must_use]
pub fn instructions(arguments: &[String]) -> ExitCode {
    run(
        "instructions",
        &["--profile", "counts", "--no-default-features"],
        arguments,
    )
}

fn run(bench: &str, options: &[&str], arguments: &[String]) -> ExitCode {
    let status = Command::new(env!("CARGO"))
        .args(["bench", "--locked", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../peers/Cargo.toml"))
        .args(options)
        .args(["--bench", bench, "--"])
        .args(arguments)
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
