//! `cargo bench --bench wheel [-- WORD..]`: runs the benchmark of that name in `peers`, a package of
//! its own, since the original that it measures beside us has the name of our crate.

use std::{
    env,
    process::{Command, ExitCode},
};

fn main() -> ExitCode {
    let words = env::args().skip(1).filter(|it| it != "--bench");
    let ran = Command::new(env!("CARGO"))
        .args(["bench", "--locked", "--manifest-path"])
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/benches/peers/Cargo.toml"
        ))
        .args(["--bench", "wheel", "--"])
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
