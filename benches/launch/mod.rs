//! The peers are a package of their own, since the original that is measured beside us has the name of our
//! crate.

use std::{
    env,
    process::{Command, ExitCode},
};

/// Runs the benchmark of that name in `peers`, with the words of the command line.
pub(crate) fn peers(bench: &str) -> ExitCode {
    let words = env::args().skip(1).filter(|it| it != "--bench");
    let ran = Command::new(env!("CARGO"))
        .args(["bench", "--locked", "--manifest-path"])
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/benches/peers/Cargo.toml"
        ))
        .args(["--bench", bench, "--"])
        .args(words)
        .status();
    match ran {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cannot run cargo: {error}");
            ExitCode::FAILURE
        }
    }
}
