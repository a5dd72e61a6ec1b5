//! The server and its tools as a program.

mod command;

use std::process::ExitCode;

fn main() -> ExitCode {
    command::run()
}
